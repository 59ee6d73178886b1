// The TypeScript SDK of May 2025: the protocol of 2025-03-26.

import { Client } from "sdk-1.11/client/index.js";
import { StdioClientTransport } from "sdk-1.11/client/stdio.js";
import { StreamableHTTPClientTransport } from "sdk-1.11/client/streamableHttp.js";
import { run } from "./old.mjs";

await run(Client, (order) =>
  order.url
    ? new StreamableHTTPClientTransport(new URL(order.url))
    : new StdioClientTransport({ ...order.stdio, stderr: "inherit" }),
);
