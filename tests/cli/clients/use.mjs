import { readFileSync } from "node:fs";
import { ApiError, Client, verify } from "./chatsvc_client.mjs";
const { BASE_URL, KEY, SIGNATURE } = process.env;
const client = new Client(BASE_URL, KEY);
const all = async (items) => { const found = []; for await (const item of items) found.push(item); return found; };
const bots = await all(client.chatbots());
const bot = bots[0];
const said = await client.send(bot.id, "opening hours", { user_id: "customer-7" });
const again = await client.send(bot.id, "opening hours", { user_id: "customer-8", idempotencyKey: "one" });
const once = await client.send(bot.id, "opening hours", { user_id: "customer-8", idempotencyKey: "one" });
const [thread] = (await all(client.conversations({ chatbot_id: bot.id }))).filter((c) => c.user_id === "customer-7");
const whole = await client.conversation(thread.id);
const { usage } = await client.analytics({ days: 1 });
const refused = [];
for (const call of [() => client.chatbot("nobody"), () => client.conversation("no/body"), () => client.send(bot.id, " "),
                    () => client.send(bot.id, "Do you sell elephants?"), () => new Client(BASE_URL, "csk_x").chatbot("x")]) {
  try { await call(); } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    refused.push([error.status, error.code, error.reason ?? null, error.requestId !== null]);
  }
}
const body = readFileSync(0);
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
console.log(JSON.stringify({
  bots: bots.length, bot: (await client.chatbot(bot.id)).id === bot.id, reply: said.reply, once: same(again, once),
  utc: whole.last_message_at instanceof Date ? "+00:00" : "", order: same(thread.last_message_at, whole.messages.at(-1).created_at),
  messages: whole.messages.map((m) => m.role), used: usage.total_messages, days: usage.by_day.map((d) => d.messages), refused,
  verify: [verify(body, SIGNATURE, "whsec_k"), verify(body, undefined, "k"), verify(body, "sha256=\u00e7", "k")],
}));
