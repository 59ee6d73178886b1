// Drives a TypeScript SDK of two years ago and prints one line of facts: whether it reads a paid result. Such an SDK discards
// the whole result if one block has a type that it does not know.

export async function run(Client, transport) {
  const order = JSON.parse(process.env.ORDER);
  const client = new Client({ name: "typescript-old", version: "0" });
  const tools = [];
  await client.connect(await transport(order));
  tools.push(...(await client.listTools()).tools.map((tool) => tool.name));
  const asked = await client.callTool({ name: "process_prompt", arguments: order.question });
  const [, run_id] = /run_id (\w{26})/.exec(asked.content[0].text);
  const called = await client.callTool({ name: "get_run", arguments: { run_id, part: "report" } });
  const facts = {
    server: client.getServerVersion().name,
    tools,
    prompts: (await client.listPrompts()).prompts.length,
    resources: (await client.listResources()).resources.length,
    blocks: called.content.map((block) => block.type),
    text: called.content[0].text,
  };
  await client.close();
  process.stdout.write(`${JSON.stringify(facts)}\n`);
  process.exit(0);
}
