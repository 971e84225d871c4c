// Preloaded into servers of others that would listen everywhere: under test they listen on loopback alone.
import net from "node:net";

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  const simple = typeof port === "number" || typeof port === "string";
  const callback = rest.find((part) => typeof part === "function");
  return simple ? listen.call(this, { port: Number(port), host: "127.0.0.1" }, callback) : listen.call(this, port, ...rest);
};
