#include <gtest/gtest.h>
#include <sys/socket.h>

#include <random>
#include <thread>

#include "base/core/clock.h"
#include "base/store/errors.h"
#include "base/store/peers/peer_server.h"
#include "base/store/peers/peer_store.h"
#include "base/store/temporary_folder.h"

namespace hone {
namespace {

constexpr const char* kToken = "a token";

std::string some_bytes(size_t count) {
  std::string bytes(count, '\0');
  std::mt19937 random(1);
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

class Peers : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = temporary_.path;
    ASSERT_TRUE(file_store().make_dirs(folder_ + "/served/part").ok());
    ASSERT_TRUE(file_store().write(folder_ + "/secret", "not served").ok());
    ASSERT_TRUE(file_store().write(folder_ + "/served/part/file", bytes_).ok());
    ASSERT_TRUE(file_store().write(folder_ + "/served/part/empty", "").ok());
    server_ = PeerServer::open(folder_ + "/served", kToken, true).value();
  }
  PeerStore store(const std::string& token = kToken) const {
    return {"host b", "127.0.0.1", server_->port(), token};
  }

  TemporaryFolder temporary_;
  std::string folder_;
  std::string bytes_ = some_bytes(static_cast<size_t>(kPeerReadBytes) + 3 * 1000 * 1000 + 7);
  std::unique_ptr<PeerServer> server_;
};

TEST_F(Peers, ReadsWholeFilesAndRanges) {
  PeerStore there = store();
  EXPECT_EQ(there.bytes("part/file").value(), std::ssize(bytes_));
  EXPECT_EQ(there.read("part/file").value(), bytes_);
  EXPECT_EQ(there.read("part/file", 1234567, 3000001).value(), bytes_.substr(1234567, 3000001));
  EXPECT_EQ(there.read("part/empty").value(), "");
  EXPECT_FALSE(there.exists("part").value()) << "a folder";
  EXPECT_FALSE(there.exists("part/other").value());
  EXPECT_TRUE(there.open("part/other").error().is(err::kStoreMissing));
}

TEST_F(Peers, RefusesWhatIsNotInTheFolder) {
  PeerStore there = store();
  for (const std::string name :
       {"../secret", "part/../../secret", "/etc/passwd", "", "part//file", "./part/file", "part/"})
    EXPECT_TRUE(there.info(name).error().is(err::kStoreDenied)) << name;
  const auto reader = there.open("part/file").value();
  std::vector<std::byte> out(10);
  for (const int64_t at :
       {std::ssize(bytes_) - 9, std::ssize(bytes_) + 1, int64_t{-1}, INT64_MAX, INT64_MIN})
    EXPECT_TRUE(reader->read(at, out).error().is(err::kStoreShort)) << at;
  EXPECT_TRUE(reader->read(std::ssize(bytes_) - 10, out).ok()) << "the connection lives";
  EXPECT_TRUE(there.write("part/new", "text").error().is(err::kStoreUnsupported));
  EXPECT_TRUE(there.remove("part/file").error().is(err::kStoreUnsupported));
}

TEST_F(Peers, AnotherTokenGetsNothing) {
  PeerStore other = store("another token");
  EXPECT_TRUE(other.info("part/file").error().is(err::kNetwork));
  EXPECT_EQ(store().bytes("part/file").value(), std::ssize(bytes_));
  EXPECT_FALSE(PeerServer::open(folder_, "").ok());
}

// Sends the bytes; true: the server closes the connection, and sends nothing.
bool is_refused(int port, const std::string& bytes) {
  const FileDescriptor fd = connect_to("127.0.0.1", port, {.patience_s = 5}).value();
  (void)::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  for (const double late = system_clock().seconds() + 5; system_clock().seconds() < late;) {
    char c = 0;
    const ssize_t got = ::recv(fd.get(), &c, 1, 0);
    if (got > 0) return false;
    if (got == 0 || errno == ECONNRESET) return true;
    system_clock().sleep(0.005);
  }
  return false;
}

TEST_F(Peers, HostileBytesEndTheirConnectionAlone) {
  PeerStore there = store();
  const auto reader = there.open("part/file").value();
  const int port = server_->port();
  EXPECT_TRUE(is_refused(port, "GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(is_refused(port, std::string("hone\xff\xff\xff\x7f\0\0\0\0", 12))) << "a long head";
  EXPECT_TRUE(is_refused(port, std::string("hone\2\0\0\0\1\0\0\0{}", 14))) << "a body";
  EXPECT_TRUE(is_refused(port, encode_frame({{{"do", "read"}, {"file", "part/file"}}, ""})));
  EXPECT_TRUE(
      is_refused(port, encode_frame({{{"do", "write"}, {"token", kToken}, {"file", "x"}}, ""})));
  EXPECT_TRUE(is_refused(port, encode_frame({{{"do", 3}, {"token", {1}}, {"file", nullptr}}, ""})));
  const std::string good =
      encode_frame({{{"do", "info"}, {"token", "a tokem"}, {"file", "part/file"}}, ""});
  std::mt19937 random(2);
  for (int i = 0; i < 30; ++i) {
    std::string bad = good;
    bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
    if (i % 3 == 0) bad = "x" + bad;
    bad += "x" + good;
    EXPECT_TRUE(is_refused(port, bad)) << i;
  }
  std::vector<std::byte> out(100);
  EXPECT_TRUE(reader->read(5, out).ok()) << "the rank's connection lives";
}

TEST_F(Peers, SilentStrangersDoNotKeepOthersOut) {
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 300; ++i)
    strangers.push_back(connect_to("127.0.0.1", server_->port(), {.patience_s = 5}).value());
  EXPECT_EQ(store().bytes("part/file").value(), std::ssize(bytes_));
}

TEST_F(Peers, AServerThatIsGoneIsAnError) {
  PeerStore there = store();
  ASSERT_TRUE(there.bytes("part/file").ok());
  const auto reader = there.open("part/file").value();
  server_.reset();
  std::vector<std::byte> out(10);
  EXPECT_TRUE(reader->read(0, out).error().is(err::kNetwork));
  there.stop();
  EXPECT_TRUE(reader->read(0, out).error().is(err::kNetwork));
}

TEST_F(Peers, StopEndsAWaitForASilentProcess) {
  const Listener silent = listen_at(0, true).value();
  PeerStore there("host c", "127.0.0.1", silent.port, kToken);
  std::thread stopper([&] {
    system_clock().sleep(0.1);
    there.stop();
  });
  EXPECT_TRUE(there.info("part/file").error().is(err::kNetwork));
  stopper.join();
}

}  // namespace
}  // namespace hone
