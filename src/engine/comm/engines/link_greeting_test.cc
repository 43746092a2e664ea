#include "engine/comm/engines/link_greeting.h"

#include <gmock/gmock.h>

#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>

namespace hone {
namespace {

using ::testing::HasSubstr;

// Keys of a run whose rank 1 has published its word.
class KnownKeys final : public LinkKeys {
 public:
  bool set(const std::string& key, const std::string& value, std::string&) override {
    values[key] = value;
    return true;
  }
  bool get(const std::string& key, std::string& value, std::string& error) override {
    const auto it = values.find(key);
    if (it == values.end()) {
      error = "no key " + key;
      return false;
    }
    value = it->second;
    return true;
  }
  std::map<std::string, std::string> values = {{"word/1", std::string(32, '1')}};
};

// The other end of the connection.
class OtherEnd : public Link {
 public:
  explicit OtherEnd(std::function<std::string()> answers) : answers_(std::move(answers)) {}
  bool transfer(std::span<const Send> sends, std::span<const Receive> receives,
                Fault& fault) override {
    sent.assign(reinterpret_cast<const char*>(sends[0].bytes.data()), sends[0].bytes.size());
    const std::string answer = answers_();
    if (answer.empty()) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_awake_; });
      fault = {1, "communication has ended"};
      return false;
    }
    std::memcpy(receives[0].bytes.data(), answer.data(), receives[0].bytes.size());
    return true;
  }
  void wake() override {
    const std::lock_guard lock(mutex_);
    is_awake_ = true;
    changed_.notify_all();
  }
  std::string sent;

 private:
  std::function<std::string()> answers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_awake_ = false;
};

TEST(LinkGreeting, ARankOfTheRunKnowsTheWord) {
  KnownKeys keys;
  OtherEnd other([&] { return keys.values.at("word/0"); });
  std::string error;
  EXPECT_TRUE(greet_peers(other, 0, 2, keys, 10, error)) << error;
  EXPECT_EQ(other.sent, std::string(32, '1'));
}

TEST(LinkGreeting, AStrangerDoesNot) {
  KnownKeys keys;
  OtherEnd other([] { return std::string(32, '0'); });
  std::string error;
  EXPECT_FALSE(greet_peers(other, 0, 2, keys, 10, error));
  EXPECT_EQ(error, "the connection of rank 1 belongs to a stranger");
}

TEST(LinkGreeting, AStrangerThatSaysNothingIsNotWaitedFor) {
  KnownKeys keys;
  OtherEnd other([] { return std::string(); });
  std::string error;
  EXPECT_FALSE(greet_peers(other, 0, 2, keys, 0.05, error));
  EXPECT_THAT(error, HasSubstr("rank 1 has not shown that it belongs to the run"));
}

TEST(LinkGreeting, AnErrorOfTheControlPlaneIsPassedOn) {
  KnownKeys keys;
  keys.values.clear();
  OtherEnd other([] { return std::string(32, '0'); });
  std::string error;
  EXPECT_FALSE(greet_peers(other, 0, 2, keys, 10, error));
  EXPECT_EQ(error, "no key word/1");
}

}  // namespace
}  // namespace hone
