// Exchanges between the threads of a process, and the errors that every engine has.
#include "engine/comm/loopback.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/comm/collectives.h"
#include "engine/comm/errors.h"

namespace hone {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
std::span<std::byte> bytes_of(std::string& text) {
  return std::as_writable_bytes(std::span(text.data(), text.size()));
}

TEST(Group, MessagesOfAPairArriveInOrder) {
  LoopbackWorld world(2);
  const Status done = world.run([](Group& g) -> Status {
    const std::string first = fmt::format("first of {}", g.rank()), second = "2nd", none;
    std::string a(first.size(), ' '), b(3, ' '), c;
    const int peer = 1 - g.rank();
    const Send sends[] = {
        {peer, bytes_of(first)}, {peer, bytes_of(none)}, {peer, bytes_of(second)}};
    const Receive receives[] = {{peer, bytes_of(a)}, {peer, bytes_of(b)}, {peer, bytes_of(c)}};
    HONE_TRY(g.exchange(sends, receives));
    EXPECT_EQ(a, fmt::format("first of {}", peer));
    EXPECT_EQ(b, "2nd");
    return Ok{};
  });
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(world.group(0).bytes_sent(), 13);
  EXPECT_EQ(world.group(0).bytes_sent(1), 13);
  EXPECT_EQ(world.group(0).bytes_received(1), 13);
  EXPECT_EQ(world.group(0).bytes_received(0), 0);
}

TEST(Group, AMessageToItselfIsACopyAndCountsNothing) {
  LoopbackWorld world(1);
  const std::string text = "abc", more = "de";
  std::string got(3, ' '), rest(2, ' ');
  const Send sends[] = {{0, bytes_of(text)}, {0, bytes_of(more)}};
  const Receive receives[] = {{0, bytes_of(got)}, {0, bytes_of(rest)}};
  ASSERT_TRUE(world.group(0).exchange(sends, receives).ok());
  EXPECT_EQ(got + rest, "abcde");
  EXPECT_EQ(world.group(0).bytes_sent(), 0);
}

TEST(Group, AMessageOfAnotherLengthIsAnErrorOnBothRanks) {
  LoopbackWorld world(2);
  std::vector<std::string> codes(2);
  (void)world.run([&](Group& g) -> Status {
    const std::string text(g.rank() == 0 ? 4 : 0, 'x');
    std::string got(g.rank() == 0 ? 0 : 3, ' ');
    const Send send{1, bytes_of(text)};
    const Receive receive{0, bytes_of(got)};
    Status done = g.rank() == 0 ? g.exchange({&send, 1}, {}) : g.exchange({}, {&receive, 1});
    if (!done.ok()) codes[static_cast<size_t>(g.rank())] = done.error().code();
    return done;
  });
  EXPECT_EQ(codes, (std::vector<std::string>{"H1504", "H1504"}));
}

TEST(Group, ARankThatEndsIsNamed) {
  LoopbackWorld world(3);
  std::vector<std::string> texts(3);
  (void)world.run([&](Group& g) -> Status {
    if (g.rank() == 2) return Error(err::kCommEngine, "the disk is full");
    Status done = barrier(g);
    texts[static_cast<size_t>(g.rank())] = done.ok() ? "" : done.error().text();
    return done;
  });
  for (const int r : {0, 1}) {
    EXPECT_NE(texts[static_cast<size_t>(r)].find("H1502"), std::string::npos) << texts[0];
    EXPECT_NE(texts[static_cast<size_t>(r)].find("lost rank"), std::string::npos);
  }
}

TEST(Group, AbortWakesAnExchangeAndEndsLaterOnes) {
  LoopbackWorld world(2);
  Group& g = world.group(0);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    g.stop("rank 1 sends no heartbeat");
  });
  std::string got(5, ' ');
  const Receive receive{1, bytes_of(got)};
  for (int times = 0; times < 2; ++times) {
    const Status done = g.exchange({}, {&receive, 1});
    ASSERT_FALSE(done.ok());
    EXPECT_TRUE(done.error().is(err::kCommStopped));
    EXPECT_EQ(done.error().what(), "communication of rank 0 ended: rank 1 sends no heartbeat");
  }
  other.join();
}

TEST(Group, AnAbortBeforeAnExchangeEndsIt) {
  LoopbackWorld world(2);
  world.group(1).stop("stopped");
  std::string text(5, ' ');
  const Receive receive{0, bytes_of(text)};
  EXPECT_TRUE(world.group(1).exchange({}, {&receive, 1}).error().is(err::kCommStopped));
  const Send send{1, bytes_of(text)};
  EXPECT_TRUE(world.group(0).exchange({&send, 1}, {}).error().is(err::kPeerLost));
}

TEST(Group, ManyExchangesOfFourRanksStayInOrder) {
  LoopbackWorld world(4);
  const Status done = world.run([](Group& g) -> Status {
    for (int64_t turn = 0; turn < 500; ++turn) {
      std::vector<int64_t> to(4), from(4, -1);
      std::vector<std::span<const std::byte>> sends;
      std::vector<std::span<std::byte>> receives;
      for (size_t r = 0; r < 4; ++r) {
        to[r] = turn * 100 + g.rank() * 10 + static_cast<int64_t>(r);
        sends.push_back(std::as_bytes(std::span(&to[r], 1)));
        receives.push_back(std::as_writable_bytes(std::span(&from[r], 1)));
      }
      HONE_TRY(all_to_all(g, sends, receives));
      for (int64_t r = 0; r < 4; ++r)
        EXPECT_EQ(from[static_cast<size_t>(r)], turn * 100 + r * 10 + g.rank());
    }
    return Ok{};
  });
  EXPECT_TRUE(done.ok());
}

}  // namespace
}  // namespace hone
