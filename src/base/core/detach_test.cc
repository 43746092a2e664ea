#include "base/core/detach.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/core/text.h"

namespace hone {
namespace {

TEST(Detach, StartsInASessionOfItsOwnWithALog) {
  const std::string folder = testing::TempDir() + "/detach_" + std::to_string(::getpid());
  const std::string log = folder + "/logs/x.log";
  const auto pid = start_detached(
      {"/bin/sh", "-c", "sleep 0.2; echo $$; echo bad >&2; read x || echo none"}, log);
  ASSERT_TRUE(pid.ok()) << pid.error().text();
  EXPECT_EQ(::getsid(static_cast<pid_t>(*pid)) == ::getsid(0), false);
  for (int i = 0; i < 500 && ::kill(static_cast<pid_t>(*pid), 0) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const std::string text = read_file(log).value();
  EXPECT_NE(text.find(std::to_string(*pid) + "\nbad\nnone\n"), std::string::npos) << text;
  EXPECT_FALSE(start_detached({"/not/there"}, log).ok());
  EXPECT_FALSE(start_detached({"/bin/true"}, "/proc/x/y.log").ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hone
