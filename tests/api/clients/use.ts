import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const { BASE_URL, KEY } = process.env as Record<string, string>;
const connect = (key: string) => createClient<paths>({ baseUrl: BASE_URL, headers: { Authorization: `Bearer ${key}` } });
const client = connect(KEY);
const bots = (await client.GET("/chatbots")).data!.data;
const bot = (await client.GET("/chatbots/{id}", { params: { path: { id: bots[0].id } } })).data!.data;
const answer = (await client.POST("/messages", { body: { chatbot_id: bot.id, message: "opening hours", user_id: "v" } })).data!.data;
const [thread] = (await client.GET("/conversations", { params: { query: { channel: "api" } } })).data!.data;
const whole = (await client.GET("/conversations/{id}", { params: { path: { id: thread.id }, query: { message_limit: 10 } } })).data!.data;
const usage = (await client.GET("/analytics", { params: { query: { days: 1 } } })).data!.data.usage;
const errors = [
  (await client.GET("/chatbots/{id}", { params: { path: { id: "nobody" } } })).error!.error,
  (await client.GET("/conversations/{id}", { params: { path: { id: "nobody" } } })).error!.error,
  (await client.GET("/chatbots", { params: { query: { cursor: "x" } } })).error!.error,
  (await client.POST("/messages", { body: { chatbot_id: bot.id, message: " " } })).error!.error,
  (await connect("csk_x").GET("/chatbots")).error!.error,
];
const roles = whole.messages.map((message) => message.role);
console.log(JSON.stringify({ bots: bots.length, reply: answer.reply, roles, used: usage.total_messages, errors }));
