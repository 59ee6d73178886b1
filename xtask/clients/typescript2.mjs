// The TypeScript SDK, version 2: the newest protocol that the server supports.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { run } from "./session.mjs";

await run(async (order) => {
  const client = new Client({ name: "typescript-2", version: "0" }, { versionNegotiation: { mode: "auto" } });
  const transport = order.url
    ? new StreamableHTTPClientTransport(new URL(order.url))
    : new StdioClientTransport({ ...order.stdio, stderr: "inherit" });
  await client.connect(transport);
  return {
    client,
    call: (params, options) => client.callTool(params, options),
    protocol: () => client.getNegotiatedProtocolVersion(),
    close: () => client.close(),
  };
});
