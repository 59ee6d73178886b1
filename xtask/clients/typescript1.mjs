// The TypeScript SDK, version 1: the protocol up to 2025-11-25.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { run } from "./session.mjs";

await run(async (order) => {
  const client = new Client({ name: "typescript-1", version: "0" });
  const transport = order.url
    ? new StreamableHTTPClientTransport(new URL(order.url))
    : new StdioClientTransport({ ...order.stdio, stderr: "inherit" });
  let protocol = null;
  // Only the transport knows the negotiated version.
  const tell = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    protocol = version;
    tell?.(version);
  };
  await client.connect(transport);
  return {
    client,
    call: (params, options) => client.callTool(params, undefined, options),
    protocol: () => protocol,
    close: () => client.close(),
  };
});
