/**
 * Readers of the stream as consoles are, in a process of their own, which take everything and keep
 * nothing. Arguments: the address of REST, and how many. Prints `{ "open" }` once all are open,
 * then `{ "bytes", "ended" }` each second.
 */
const [address = '', count = '1'] = process.argv.slice(2);
let bytes = 0;
let ended = 0;

async function follow(): Promise<void> {
  const { status, body } = await fetch(`${address}/v1/stream?events=outcome,halt`);
  if (status !== 200 || body === null) throw new Error(`the stream was answered ${status}`);
  opened();
  for await (const piece of body) bytes += piece.length;
  // Too slow, or the service ends: a console would go on from its last id,
  // which costs the service more than this does.
  ended += 1;
}

let open = 0;
function opened(): void {
  open += 1;
  if (open === Number(count)) console.log(JSON.stringify({ open }));
}

for (let at = 0; at < Number(count); at += 1) void follow();
setInterval(() => console.log(JSON.stringify({ bytes, ended })), 1000);
