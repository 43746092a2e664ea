// Connections between hosts: their times, and messages that get lost by their size.
#include "engine/comm/engines/link_speeds.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/ranks/connection.h"
#include "engine/comm/engines/engines_test.h"
#include "engine/comm/engines/errors.h"

namespace hone {
namespace {

TEST(LinkSpeeds, OfAnAddressThatAnswers) {
  const auto server = EchoServer::start().value();
  const AddressSpeed s = measure_address("127.0.0.1", server->port(), server->token());
  EXPECT_TRUE(s.answers);
  EXPECT_EQ(s.least_lost, 0);
  EXPECT_GT(s.small_s, 0);
  EXPECT_GT(s.block_s, s.small_s);
  EXPECT_GT(s.bytes_per_s, 1e7);
}

TEST(LinkSpeeds, StrangersGetNoAnswer) {
  const auto server = EchoServer::start().value();
  const std::string other(server->token().size(), '0');
  EXPECT_FALSE(measure_address("127.0.0.1", server->port(), other, 0.5).answers);
  EXPECT_FALSE(measure_address("127.0.0.1", 1, server->token(), 0.5).answers);
  EXPECT_FALSE(measure_address("nowhere", server->port(), server->token(), 0.5).answers);
  EXPECT_TRUE(measure_address("127.0.0.1", server->port(), server->token()).answers);
}

// A host on a path that loses packets of more than 1,400 bytes: it never sees larger messages.
class LosesLarge {
 public:
  LosesLarge() : listener_(listen_at(0, true).value()) {
    thread_ = std::thread([this] { run(); });
  }
  ~LosesLarge() {
    ::shutdown(listener_.socket.get(), SHUT_RDWR);
    thread_.join();
  }
  int port() const { return listener_.port; }

 private:
  void run() {
    pollfd comes{listener_.socket.get(), POLLIN, 0};
    ::poll(&comes, 1, 5000);
    const FileDescriptor peer(::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::vector<char> bytes(65536);
    const auto read = [&](size_t count) {
      return ::recv(peer.get(), bytes.data(), count, MSG_WAITALL) == static_cast<ssize_t>(count);
    };
    read(3);  // the token
    for (uint32_t request[2]; read(sizeof request);) {
      std::memcpy(request, bytes.data(), sizeof request);
      if (request[0] > 1400 || !read(request[0])) break;
      (void)::send(peer.get(), bytes.data(), request[1], MSG_NOSIGNAL);
    }
    (void)::recv(peer.get(), bytes.data(), bytes.size(),
                 MSG_WAITALL);  // until the other end closes
  }
  Listener listener_;
  std::thread thread_;
};

TEST(LinkSpeeds, TheSizeOfLostMessagesIsFound) {
  const LosesLarge host;
  const AddressSpeed s = measure_address("127.0.0.1", host.port(), "abc", 0.5);
  EXPECT_TRUE(s.answers) << "small messages arrive";
  EXPECT_EQ(s.least_lost, 2048);
  EXPECT_EQ(s.bytes_per_s, 0);
}

TEST(LinkSpeeds, EachPairIsMeasuredOnEachRank) {
  LocalKeyValues keys;
  std::vector<std::vector<LinkSpeed>> all(3);
  const auto texts = on_ranks(3, [&](int rank) -> Status {
    all[static_cast<size_t>(rank)] = HONE_TRY(measure_links(test_world(rank, 3), keys));
    return Ok{};
  });
  EXPECT_EQ(texts, std::vector<std::string>(3));
  std::vector<std::pair<int, int>> pairs;
  for (const LinkSpeed& l : all[1]) {
    if (l.address == "127.0.0.1") pairs.emplace_back(l.from, l.to);
    EXPECT_EQ(l.interface, "lo");
    EXPECT_TRUE(l.speed.answers) << l.address;
  }
  EXPECT_EQ(pairs, (std::vector<std::pair<int, int>>{{0, 1}, {0, 2}, {1, 2}}));
  for (const auto& links : all) EXPECT_EQ(links.size(), all[0].size());
}

TEST(LinkSpeeds, ARankOfAnotherVersionIsAnError) {
  LocalKeyValues keys;
  ASSERT_TRUE(keys.set("links/1/0/1", R"({"host": "b"})").ok());
  const auto links = measure_links(test_world(0, 2), keys);
  ASSERT_FALSE(links.ok());
  EXPECT_TRUE(links.error().is(err::kRanksApart));
}

}  // namespace
}  // namespace hone
