// The server against bytes by hand; tests/faults/server_peers.py has curl, h2load and TLS.
#include "operate/http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "operate/http/errors.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<HttpServer> started(HttpOptions options, WebHandler handler) {
  auto server = HttpServer::start(options, std::move(handler));
  EXPECT_TRUE(server.ok()) << server.error().text();
  return std::move(*server);
}

class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    const timeval limit{10, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~Client() { ::close(socket_); }
  void send(const std::string& bytes) {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Until the bytes end in this, or the server ends the connection.
  std::string read(const std::string& until = "\n\n\n") {
    std::string all;
    char buffer[4096];
    while (!all.ends_with(until)) {
      const ssize_t n = ::recv(socket_, buffer, sizeof buffer, 0);
      if (n <= 0) return all;
      all.append(buffer, static_cast<size_t>(n));
    }
    return all;
  }

 private:
  int socket_;
};

void echo(WebRequest r, const std::shared_ptr<WebReply>& reply) {
  reply->send({200, r.method + " " + r.path + " " + r.query + " " + r.body, "text/plain"});
}

TEST(HttpServer, AnswersRequestsOfOneConnectionInOrder) {
  const auto server = started({}, echo);
  Client c(server->port());
  c.send("GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(c.read("GET /a b=c ").starts_with("HTTP/1.1 200 OK\r\n"));
  // Two at once.
  c.send(
      "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
      "POST /2 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyou\r\n0\r\n\r\n");
  const std::string both = c.read("POST /2  you");
  EXPECT_NE(both.find("POST /1  hi"), std::string::npos) << both;
  EXPECT_TRUE(both.ends_with("POST /2  you"));
}

TEST(HttpServer, SendsPiecesAsTheyCome) {
  std::atomic<bool> more = false;
  const auto server = started({}, [&](WebRequest, std::shared_ptr<WebReply> reply) {
    std::thread([reply, &more] {
      reply->begin({200, "", "text/event-stream"});
      reply->write("one");
      while (!more) std::this_thread::sleep_for(1ms);
      reply->write("two");
      reply->end();
    }).detach();
  });
  Client c(server->port());
  c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(c.read("one\r\n").ends_with("3\r\none\r\n"));
  more = true;
  EXPECT_EQ(c.read("0\r\n\r\n"), "3\r\ntwo\r\n0\r\n\r\n");
}

TEST(HttpServer, RefusesWhatIsTooLongOrNoRequest) {
  HttpOptions o;
  o.most_body_bytes = 100;
  const auto server = started(o, echo);
  {
    Client c(server->port());
    c.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n");
    EXPECT_TRUE(c.read().starts_with("HTTP/1.1 413 "));
  }
  {
    Client c(server->port());
    c.send("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(20000, 'a') + "\r\n\r\n");
    EXPECT_TRUE(c.read().starts_with("HTTP/1.1 431 "));
  }
  {
    Client c(server->port());
    c.send("nonsense\r\n\r\n");
    EXPECT_TRUE(c.read().starts_with("HTTP/1.1 400 "));
  }
}

TEST(HttpServer, EndsConnectionsOfSlowClients) {
  HttpOptions o;
  o.request_seconds = 0.2;
  o.idle_seconds = 0.2;
  const auto server = started(o, echo);
  Client slow(server->port()), idle(server->port());
  slow.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nbegin");
  EXPECT_EQ(slow.read(), "");
  EXPECT_EQ(idle.read(), "");
}

TEST(HttpServer, SaysThatTheClientLeft) {
  std::atomic<bool> left = false;
  std::shared_ptr<WebReply> kept;
  const auto server = started({}, [&](WebRequest, std::shared_ptr<WebReply> reply) {
    kept = reply;
    reply->on_gone([&] { left = true; });
  });
  {
    Client c(server->port());
    c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(left);
  }
  for (int i = 0; i < 1000 && !left; ++i) std::this_thread::sleep_for(5ms);
  EXPECT_TRUE(left);
  EXPECT_TRUE(kept->gone());
  kept.reset();
}

TEST(HttpServer, RefusesFilesThatAreNoKeys) {
  HttpOptions o;
  o.tls_certificate = o.tls_key = std::string(HONE_SOURCE_DIR) + "/README.md";
  EXPECT_EQ(std::string(HttpServer::start(o, echo).error().code()), err::kHttpTls.id);
  o.tls_key.clear();
  EXPECT_EQ(std::string(HttpServer::start(o, echo).error().code()), err::kHttpTls.id);
  o.tls_certificate.clear();
  o.host = "192.0.2.1";  // not of this machine
  EXPECT_EQ(std::string(HttpServer::start(o, echo).error().code()), err::kHttpListen.id);
}

TEST(HttpServer, DropsNothingSilently) {
  const auto server = started({}, [](WebRequest, const std::shared_ptr<WebReply>&) {});
  Client c(server->port());
  c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(c.read("\n").starts_with("HTTP/1.1 500 "));
}

TEST(HttpServer, DrainsWhatItAnswers) {
  std::atomic<bool> go = false;
  const auto server = started({}, [&](WebRequest, std::shared_ptr<WebReply> reply) {
    std::thread([reply, &go] {
      while (!go) std::this_thread::sleep_for(1ms);
      reply->send({200, "done", "text/plain"});
    }).detach();
  });
  Client busy(server->port()), idle(server->port());
  busy.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  while (server->requests() == 0) std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(server->drain(0.05));
  EXPECT_EQ(idle.read(), "");
  go = true;
  EXPECT_TRUE(busy.read("done").ends_with("done"));
  EXPECT_TRUE(server->drain(5));
}

TEST(WebRequestParts, DecodesPathsAndRefusesWaysOut) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(path_parts("/v1/models/a%20b"), (Parts{"v1", "models", "a b"}));
  EXPECT_EQ(path_parts("/"), Parts{});
  for (const char* bad : {"", "v1", "/a//b", "/a/../b", "/%2e%2e", "/a%2fb", "/%0", "/a%00"})
    EXPECT_FALSE(path_parts(bad)) << bad;
}

}  // namespace
}  // namespace hone
