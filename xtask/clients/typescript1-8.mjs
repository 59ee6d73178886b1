// The TypeScript SDK of March 2025: the protocol of 2024-11-05, on pipes only.

import { Client } from "sdk-1.8/client/index.js";
import { StdioClientTransport } from "sdk-1.8/client/stdio.js";
import { run } from "./old.mjs";

await run(Client, (order) => new StdioClientTransport({ ...order.stdio, stderr: "inherit" }));
