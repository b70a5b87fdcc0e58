import { Client } from "./chatsvc_client.mjs";
const names = [];
for await (const bot of new Client(process.env.BASE_URL, "k").chatbots()) names.push(bot.name);
console.log(names.join(" "));
process.exit(0);
