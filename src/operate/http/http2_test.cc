// HTTP/2 against nghttp2's client: what is in flight when the server drains, and what a client may
// cost.
#include <atomic>
#include <thread>

#include "operate/http/peers_test.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

// Answers "done" once it may.
WebHandler answers_when(const std::atomic<bool>& go, std::atomic<int>& asked) {
  return [&](const WebRequest& r, std::shared_ptr<WebReply> reply) {
    ++asked;
    if (r.path == "/now") return reply->send({200, "now", "text/plain"});
    LateAnswers::begin([reply = std::move(reply), body = r.body, &go]() mutable {
      while (!go) std::this_thread::sleep_for(1ms);
      reply->send({200, body + "done", "text/plain"});
    });
  };
}

TEST(Http2Server, AnswersRequestsOfOneConnection) {
  const auto server = started({}, echo);
  Client2 c(server->port());
  const std::string body(300000, 'b');
  const int32_t a = c.ask("GET", "/a?b=c"), b = c.ask("POST", "/b", body);
  ASSERT_TRUE(c.answered(a) && c.answered(b));
  EXPECT_EQ(c.answer(a).status, 200);
  EXPECT_EQ(c.answer(a).body, "GET /a b=c ");
  EXPECT_EQ(c.answer(b).body, "POST /b  " + body);
}

TEST(Http2Server, DrainsWhatItAnswers) {
  std::atomic<bool> go = false;
  std::atomic<int> asked = 0;
  const auto server = started({}, answers_when(go, asked));
  Client2 c(server->port());
  const int32_t first = c.ask("GET", "/"), begun = c.ask("POST", "/", "be", false);
  const int32_t now = c.ask("GET", "/now");  // its answer says that the server saw those before it
  ASSERT_TRUE(c.answered(now));
  EXPECT_FALSE(server->drain(0.05));
  ASSERT_TRUE(c.until([&] { return c.going_away(); }));
  EXPECT_EQ(c.going_error(), uint32_t{NGHTTP2_NO_ERROR});
  EXPECT_EQ(c.last_id(), now);
  EXPECT_FALSE(server->drain(0.05));  // again, as two signals do
  c.more(begun, "gun ");
  go = true;
  ASSERT_TRUE(c.answered(first) && c.answered(begun));
  EXPECT_EQ(c.answer(first).body, "done");
  EXPECT_EQ(c.answer(begun).body, "begun done");
  EXPECT_EQ(c.answer(begun).error, uint32_t{NGHTTP2_NO_ERROR});
  EXPECT_TRUE(c.until([&] { return c.ended(); }));
  c.leave();
  EXPECT_TRUE(server->drain(60));
}

TEST(Http2Server, RefusesNewRequestsWhileItDrains) {
  std::atomic<bool> go = false;
  std::atomic<int> asked = 0;
  const auto server = started({}, answers_when(go, asked));
  Client2 c(server->port());
  const int32_t first = c.ask("GET", "/"), now = c.ask("GET", "/now");
  ASSERT_TRUE(c.answered(now));
  // It came later: once it is ended, the other connection has its GOAWAY.
  Client idle(server->port());
  idle.send("GET /now HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(idle.read("now").ends_with("now"));
  EXPECT_FALSE(server->drain(0.05));
  EXPECT_EQ(idle.read(), "");
  const int32_t late = c.ask("GET", "/now");
  c.flush();
  go = true;
  ASSERT_TRUE(c.answered(late) && c.answered(first));
  EXPECT_EQ(c.answer(late).status, 0);
  EXPECT_EQ(c.answer(late).error, uint32_t{NGHTTP2_REFUSED_STREAM});
  EXPECT_EQ(c.answer(first).body, "done");
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(c.until([&] { return c.ended(); }));
  c.leave();
  EXPECT_TRUE(server->drain(60));
}

TEST(Http2Server, EndsIdleConnectionsWhenItDrains) {
  const auto server = started({}, echo);
  Client2 c(server->port());
  ASSERT_TRUE(c.answered(c.ask("GET", "/")));
  EXPECT_TRUE(server->drain(60));
  EXPECT_TRUE(c.until([&] { return c.ended(); }));
  EXPECT_TRUE(c.going_away());
}

TEST(Http2Server, ManyRefusedRequestsLeaveTheConnectionUsable) {
  HttpOptions o;
  o.most_body_bytes = 1000;
  const auto server = started(o, echo);
  Client2 c(server->port());
  std::vector<int32_t> long_headers, long_bodies;
  for (int i = 0; i < 100; ++i) {
    long_headers.push_back(c.ask("GET", "/", "", true, {{"x", std::string(20000, 'a')}}));
    // Its client never ends it.
    long_bodies.push_back(c.ask("POST", "/", std::string(2000, 'b'), false));
  }
  for (const int32_t id : long_headers) {
    ASSERT_TRUE(c.answered(id)) << id;
    EXPECT_EQ(c.answer(id).status, 431);
    EXPECT_EQ(c.answer(id).error, uint32_t{NGHTTP2_NO_ERROR});
  }
  for (const int32_t id : long_bodies) {
    ASSERT_TRUE(c.answered(id)) << id;
    EXPECT_EQ(c.answer(id).status, 413);
    EXPECT_EQ(c.answer(id).error, uint32_t{NGHTTP2_NO_ERROR});
    EXPECT_NE(c.answer(id).body.find("longer than 1000 bytes"), std::string::npos);
  }
  const int32_t last = c.ask("POST", "/", "hello");
  ASSERT_TRUE(c.answered(last));
  EXPECT_EQ(c.answer(last).body, "POST /  hello");
}

TEST(Http2Server, ResetsWhatItsClientNeverTakes) {
  HttpOptions o;
  o.most_body_bytes = 1000;
  o.write_seconds = 1;
  std::atomic<int> gone = 0;
  std::shared_ptr<WebReply> kept;
  const auto server = started(o, [&](const WebRequest& r, const std::shared_ptr<WebReply>& reply) {
    if (r.path != "/pieces") return echo(r, reply);
    kept = reply;
    reply->on_gone([&] { ++gone; });
    reply->begin({200, "", "text/plain"});
    reply->write("one");
  });
  Client2 c(server->port(), 0);
  const int32_t whole = c.ask("GET", "/"), refused = c.ask("POST", "/", std::string(2000, 'b'));
  const int32_t endless = c.ask("POST", "/", std::string(2000, 'b'), false);
  const int32_t pieces = c.ask("GET", "/pieces");
  for (const int32_t id : {whole, refused, endless, pieces}) {
    ASSERT_TRUE(c.answered(id)) << id;
    EXPECT_GT(c.answer(id).status, 0) << id;
    EXPECT_EQ(c.answer(id).body, "") << id;
    EXPECT_EQ(c.answer(id).error, uint32_t{NGHTTP2_CANCEL}) << id;
  }
  EXPECT_EQ(gone, 1);
  EXPECT_TRUE(kept->gone());
  kept.reset();
  // An answer without a body needs no window.
  const int32_t last = c.ask("HEAD", "/");
  ASSERT_TRUE(c.answered(last));
  EXPECT_EQ(c.answer(last).status, 200);
}

TEST(Http2Server, BoundsTheBodiesThatAreOpen) {
  HttpOptions o;
  o.most_body_bytes = 1000;
  o.most_open_bytes = 3000;
  const auto server = started(o, echo);
  Client2 c(server->port());
  for (int round = 0; round < 3; ++round) {  // finished requests do not count
    std::vector<int32_t> begun;
    for (int i = 0; i < 3; ++i) begun.push_back(c.ask("POST", "/", std::string(990, 'b'), false));
    c.flush();
    const int32_t beyond = c.ask("POST", "/", std::string(100, 'b'), false);
    ASSERT_TRUE(c.answered(beyond));
    EXPECT_EQ(c.answer(beyond).status, 503);
    EXPECT_NE(c.answer(beyond).body.find("bodies of 3000 bytes"), std::string::npos)
        << c.answer(beyond).body;
    for (const int32_t id : begun) c.more(id, "end");
    for (const int32_t id : begun) {
      ASSERT_TRUE(c.answered(id));
      EXPECT_EQ(c.answer(id).status, 200);
      EXPECT_TRUE(c.answer(id).body.ends_with("bend"));
    }
  }
}

TEST(Http2Server, ResetsRequestsThatNeverEnd) {
  HttpOptions o;
  o.request_seconds = 1;
  o.most_body_bytes = 1000;
  o.most_open_bytes = 1000;
  const auto server = started(o, echo);
  Client2 c(server->port());
  const int32_t slow = c.ask("POST", "/", std::string(1000, 'b'), false);
  ASSERT_TRUE(c.answered(slow));
  EXPECT_EQ(c.answer(slow).error, uint32_t{NGHTTP2_CANCEL});
  const int32_t next = c.ask("POST", "/", std::string(1000, 'b'));
  ASSERT_TRUE(c.answered(next));
  EXPECT_EQ(c.answer(next).status, 200);
}

}  // namespace
}  // namespace hone
