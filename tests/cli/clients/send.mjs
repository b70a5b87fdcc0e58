import { Client } from "./chatsvc_client.mjs";
const real = setTimeout;
globalThis.setTimeout = (done, pause, ...more) => {
  if (pause < 500) return real(done, pause, ...more); // the ticks of fetch itself
  console.log(pause / 1000);
  return real(done, 0);
};
try {
  console.log("reply", (await new Client(process.env.BASE_URL, "k").send("b", "m")).reply);
} catch (error) {
  console.log(error.code, error.retryable ? "True" : "False");
}
process.exit(0);
