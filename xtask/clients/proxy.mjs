// A proxy between the protocol's conformance suite and the real program. It replaces the suite's names of tools, prompts and
// resources by those of the program, and changes nothing else in either direction.
//
// Usage: proxy.mjs UPSTREAM. UPSTREAM is the program's URL, `http://HOST:PORT/mcp`. It prints its own URL.

import http from "node:http";
import { tools, prompts, resource, began } from "./names.mjs";

const upstream = new URL(process.argv[2]);
let asked = 0;

/** The message with the program's names instead of the suite's. */
function renamed(message) {
  const { method, params } = message;
  if (method === "tools/call" && tools[params?.name]) {
    const { name, arguments: given } = tools[params.name];
    asked += 1;
    return { ...message, params: { ...params, name, arguments: given(asked, params.arguments ?? {}) } };
  }
  if (method === "prompts/get" && prompts[params?.name]) {
    const { name, arguments: given } = prompts[params.name];
    return { ...message, params: { ...params, name, arguments: given(params.arguments ?? {}) } };
  }
  if (method === "completion/complete" && prompts[params?.ref?.name]) {
    const { name, argument } = prompts[params.ref.name];
    const ref = { ...params.ref, name };
    return { ...message, params: { ...params, ref, argument: { ...params.argument, name: argument } } };
  }
  if (method === "resources/read" && resource(params?.uri)) {
    return { ...message, params: { ...params, uri: resource(params.uri) } };
  }
  return message;
}

const server = http.createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    let body = Buffer.concat(pieces);
    const headers = { ...request.headers };
    const own = `127.0.0.1:${server.address().port}`;
    for (const name of ["host", "origin"]) {
      // The proxy's own host becomes the program's; foreign hosts are passed on.
      headers[name] = headers[name]?.replace(own, upstream.host).replace(`localhost:${server.address().port}`, upstream.host);
      if (headers[name] === undefined) delete headers[name];
    }
    try {
      const message = JSON.parse(body);
      const sent = renamed(message);
      if (sent !== message) {
        body = Buffer.from(JSON.stringify(sent));
        headers["content-length"] = String(body.length);
        // The header is corrected only if it was correct before.
        const said = message.params.name ?? message.params.uri;
        if (said !== undefined && headers["mcp-name"] === said) headers["mcp-name"] = sent.params.name ?? sent.params.uri;
      }
    } catch {
      // The program refuses what is not JSON.
    }
    const passed = http.request(upstream, { method: request.method, headers }, (answer) => {
      // The client may disconnect and the answer may break off: either closes the other.
      answer.on("error", () => response.destroy());
      if (!response.destroyed) answer.pipe(response.writeHead(answer.statusCode, answer.headers));
    });
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    passed.end(body);
  });
});

await began(upstream);
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}/mcp\n`);
});
