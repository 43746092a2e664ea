// The server against bytes by hand; http2_test.cc has HTTP/2, tests/faults/serve_peers.py curl and
// TLS.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <thread>

#include "operate/http/errors.h"
#include "operate/http/peers_test.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

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
    LateAnswers::begin([reply, &more] {
      reply->begin({200, "", "text/event-stream"});
      reply->write("one");
      while (!more) std::this_thread::sleep_for(1ms);
      reply->write("two");
      reply->end();
    });
  });
  Client c(server->port());
  c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(c.read("one\r\n").ends_with("3\r\none\r\n"));
  more = true;
  EXPECT_EQ(c.read("0\r\n\r\n"), "3\r\ntwo\r\n0\r\n\r\n");
}

// After an error in the middle of an answer the client sees that it is incomplete, and no other one.
TEST(HttpServer, EndsPiecesThatAreFollowedByAWholeAnswer) {
  const auto server = started({}, [&](WebRequest, std::shared_ptr<WebReply> reply) {
    LateAnswers::begin([reply] {
      reply->begin({200, "", "text/event-stream"});
      reply->write("one");
      reply->send(web_error(503, "too late"));
    });
  });
  Client c(server->port());
  c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string all = c.read();
  EXPECT_TRUE(all.ends_with("3\r\none\r\n")) << all;
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

TEST(HttpServer, RefusesBodiesWhoseEndIsUnclear) {
  const auto server = started({}, echo);
  const std::string smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  struct Case {
    const char *version, *headers;
    int status;
  };
  for (const Case& c : {
           Case{"1.1", "Transfer-Encoding: chunked, identity\r\n", 400},
           Case{"1.1", "Transfer-Encoding: xchunked\r\n", 400},
           Case{"1.1", "Transfer-Encoding: identity\r\n", 400},
           Case{"1.1", "Transfer-Encoding:\r\n", 400},
           Case{"1.1", "Transfer-Encoding: chunked, chunked\r\n", 400},
           Case{"1.1", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", 400},
           Case{"1.1", "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n", 400},
           Case{"1.1", "Content-Length: 5\r\nTransfer-Encoding: xchunked\r\n", 400},
           Case{"1.1", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
           Case{"1.1", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
           Case{"1.1", "Content-Length: 5\r\nContent-Length: 6\r\n", 400},
           Case{"1.0", "Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n", 400},
           Case{"1.1", "Transfer-Encoding: gzip, chunked\r\n", 501},
           Case{"1.1", "Transfer-Encoding: chunked;x, identity\r\n", 501},
       }) {
    Client client(server->port());
    client.send("POST / HTTP/" + std::string(c.version) + "\r\nHost: x\r\n" + c.headers + "\r\n" +
                smuggled);
    const std::string all = client.read();
    EXPECT_TRUE(all.starts_with("HTTP/1.1 " + std::to_string(c.status) + " ")) << c.headers << all;
    EXPECT_NE(all.find("Connection: close\r\n"), std::string::npos) << c.headers << all;
    EXPECT_EQ(all.find("HTTP/1.1 ", 1), std::string::npos) << c.headers << all;
  }
  Client client(server->port());
  client.send(
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n");
  EXPECT_TRUE(client.read("POST /  a").starts_with("HTTP/1.1 200 "));
}

TEST(HttpServer, RefusesHeadersThatAreUnclear) {
  const auto server = started({}, echo);
  for (const char* head :
       {"GET / HTTP/1.1\r\nX: y\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n\tb\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na"}) {
    Client c(server->port());
    c.send(head);
    EXPECT_TRUE(c.read().starts_with("HTTP/1.1 400 ")) << head;
  }
  Client c(server->port());
  c.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(c.read("\n").starts_with("HTTP/1.0 200 "));
}

// Neither a body is read nor leave given for it.
TEST(HttpServer, AdmitsByTheHead) {
  int handled = 0;
  std::atomic<int> refused = 0;
  WebHooks hooks;
  hooks.admission = [](const WebRequest& head) -> std::optional<WebAnswer> {
    if (head.header("x-api-key") == "k") return std::nullopt;
    return web_error(401, "no key");
  };
  hooks.refusal = [&](const WebRequest& head, WebAnswer& answer) {
    ++refused;
    answer.headers.emplace_back("X-Seen", head.path + " " + head.client);
  };
  const auto server = HttpServer::start(
                          {},
                          [&](WebRequest r, std::shared_ptr<WebReply> reply) {
                            ++handled;
                            echo(std::move(r), std::move(reply));
                          },
                          hooks)
                          .value();
  for (const char* expect : {"", "Expect: 100-continue\r\n"}) {
    Client c(server->port());
    c.send(fmt::format("POST / HTTP/1.1\r\nHost: x\r\n{}Content-Length: 1000000\r\n\r\n", expect));
    const std::string answer = c.read();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << answer;
    EXPECT_NE(answer.find("X-Seen: / 127.0.0.1\r\n"), std::string::npos) << answer;
  }
  Client malformed(server->port());
  malformed.send("nothing\r\n\r\n");
  EXPECT_NE(malformed.read().find("X-Seen: 127.0.0.1\r\n"), std::string::npos);
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(handled, 0);
  Client c(server->port());
  c.send(
      "POST / HTTP/1.1\r\nHost: x\r\nX-Api-Key: k\r\nExpect: 100-continue\r\nContent-Length: "
      "2\r\n\r\n");
  EXPECT_EQ(c.read("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  c.send("hi");
  EXPECT_TRUE(c.read("POST /  hi").starts_with("HTTP/1.1 200 "));
}

TEST(HttpServer, BoundsTheBodiesOfAllConnections) {
  HttpOptions o;
  o.most_body_bytes = 1000, o.most_open_bytes = 2500;
  const auto server = started(o, echo);
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  for (int round = 0; round < 3; ++round) {  // answered requests do not count
    Client a(server->port()), b(server->port()), beyond(server->port()), chunked(server->port());
    a.send(head + "Content-Length: 1000\r\n\r\nbegun");
    b.send(head + "Transfer-Encoding: chunked\r\n\r\n3e8\r\nbegun");
    std::this_thread::sleep_for(50ms);
    beyond.send(head + "Content-Length: 1000\r\n\r\n");
    EXPECT_TRUE(beyond.read().starts_with("HTTP/1.1 503 "));
    chunked.send(head + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n");
    EXPECT_TRUE(chunked.read().starts_with("HTTP/1.1 503 "));
    a.send(std::string(995, 'a'));
    EXPECT_TRUE(a.read("aaa").starts_with("HTTP/1.1 200 "));
    b.send(std::string(995, 'b') + "\r\n0\r\n\r\n");
    EXPECT_TRUE(b.read("bbb").starts_with("HTTP/1.1 200 "));
  }
}

// Processor time of the server's thread and others while no descriptor is left.
TEST(HttpServer, WaitsForADescriptor) {
  const auto server = started({}, echo);
  Client before(server->port());
  before.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(before.read("GET /first  ").starts_with("HTTP/1.1 200 "));
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit low{200, limit.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &low);
  std::vector<int> taken;
  for (int fd; (fd = ::dup(0)) >= 0;) taken.push_back(fd);
  ::close(taken.back());
  taken.pop_back();
  const std::clock_t begun = std::clock();
  Client beyond(server->port());  // takes the last one
  EXPECT_EQ(beyond.read(), "");
  std::this_thread::sleep_for(500ms);
  EXPECT_LT(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC, 0.2);
  before.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(before.read("GET /a  ").starts_with("HTTP/1.1 200 "));
  for (const int fd : taken) ::close(fd);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  std::this_thread::sleep_for(50ms);
  Client after(server->port());
  after.send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(after.read("GET /b  ").starts_with("HTTP/1.1 200 "));
}

TEST(HttpServer, BoundsWhatComesBesideTheChunks) {
  HttpOptions o;
  o.request_seconds = 120;
  const auto server = started(o, echo);
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string many;
  for (int i = 0; i < 200; ++i) many += "1;" + std::string(100, 'a') + "\r\nb\r\n";
  for (const std::string& body :
       {"1;" + std::string(200 << 10, 'a'),                        // an extension without an end
        "1;" + std::string(20 << 10, 'a') + "\r\nb\r\n0\r\n\r\n",  // a long one
        many + "0\r\n\r\n",                                        // many of them
        "1\r\nb\r\n0\r\nX: " + std::string(200 << 10, 'a')}) {     // trailers without an end
    Client c(server->port());
    c.send(head + body);
    const std::string all = c.read();
    EXPECT_TRUE(all.starts_with("HTTP/1.1 431 ")) << body.substr(0, 20) << all;
    EXPECT_NE(all.find("the extensions of chunks, or the trailers, are too long"),
              std::string::npos);
  }
  Client c(server->port());
  c.send(head + "1;some=thing\r\nb\r\n0\r\nX: y\r\n\r\n");
  EXPECT_TRUE(c.read("POST /  b").starts_with("HTTP/1.1 200 "));
}

TEST(HttpServer, TakesBodiesUpToTheLimit) {
  HttpOptions o;
  o.most_body_bytes = 3 << 20;
  o.request_seconds = o.write_seconds = 120;
  const auto server = started(o, [](const WebRequest& r, const std::shared_ptr<WebReply>& reply) {
    reply->send({200, std::to_string(r.body.size()) + (r.body.ends_with("ab") ? " whole" : " torn"),
                 "text/plain"});
  });
  const std::string body = std::string(o.most_body_bytes - 1, 'a') + "b";
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  std::string small;
  for (size_t at = 0; at < body.size(); at += 1 << 10)
    small += "400\r\n" + body.substr(at, 1 << 10) + "\r\n";
  Client c(server->port());
  for (const std::string& request :
       {head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
        chunked + fmt::format("{:x}\r\n", body.size()) + body + "\r\n0\r\n\r\n",
        chunked + small + "0\r\n\r\n"}) {
    c.send(request);
    EXPECT_TRUE(c.read(" whole").ends_with("\r\n\r\n" + std::to_string(body.size()) + " whole"));
  }
  c.send(chunked + small + "1\r\n");
  EXPECT_TRUE(c.read().starts_with("HTTP/1.1 413 "));
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
    LateAnswers::begin([reply, &go] {
      while (!go) std::this_thread::sleep_for(1ms);
      reply->send({200, "done", "text/plain"});
    });
  });
  Client busy(server->port()), idle(server->port());
  busy.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  while (server->requests() == 0) std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(server->drain(0.05));
  EXPECT_EQ(idle.read(), "");
  go = true;
  const std::string answer = busy.read("done");
  EXPECT_TRUE(answer.ends_with("done"));
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << answer;
  EXPECT_EQ(busy.read(), "");
  busy.leave();
  EXPECT_TRUE(server->drain(60));
}

TEST(HttpServer, SaysThatItClosesWhenItDrains) {
  std::atomic<bool> go = false;
  const auto server = started({}, [&](WebRequest, std::shared_ptr<WebReply> reply) {
    LateAnswers::begin([reply, &go]() mutable {
      while (!go) std::this_thread::sleep_for(1ms);
      reply->begin({200, "", "text/event-stream"});
      reply->write("piece");
      reply->end();
    });
  });
  Client busy(server->port()), idle(server->port());
  busy.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  while (server->requests() == 0) std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(server->drain(0.05));
  EXPECT_EQ(idle.read(), "");
  go = true;
  const std::string answer = busy.read();
  EXPECT_TRUE(answer.ends_with("5\r\npiece\r\n0\r\n\r\n")) << answer;
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << answer;
  busy.leave();
  EXPECT_TRUE(server->drain(60));
}

TEST(WebRequestParts, DecodesPathsAndRefusesWaysOut) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(path_parts("/v1/models/a%20b"), (Parts{"v1", "models", "a b"}));
  EXPECT_EQ(path_parts("/"), Parts{});
  for (const char* bad : {"", "v1", "/a//b", "/a/../b", "/%2e%2e", "/a%2fb", "/%0", "/a%00",
                          "/a%0ab", "/a%1f", "/a%7f", "/a\x01"})
    EXPECT_FALSE(path_parts(bad)) << bad;
}

}  // namespace
}  // namespace hone
