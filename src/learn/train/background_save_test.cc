// A job beside the training: when its states may change, and what becomes of its errors.
#include "learn/train/background_save.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "learn/train/errors.h"

namespace hone {
namespace {

TEST(BackgroundSave, WhatItReadsMayChangeBeforeItEnds) {
  std::atomic<bool> go = false, read = false;
  BackgroundSave save([&](const std::function<void()>& all_read) -> Status {
    read = true;
    all_read();
    while (!go) std::this_thread::yield();
    return Ok{};
  });
  save.wait_until_read();
  EXPECT_TRUE(read);
  EXPECT_FALSE(save.ended());
  go = true;
  EXPECT_TRUE(save.wait().ok());
  EXPECT_TRUE(save.ended());
}

TEST(BackgroundSave, AnErrorOpensTheGateAndComesWithWait) {
  BackgroundSave save([](const std::function<void()>&) -> Status {
    return Error(err::kNoCheckpoint, "the store is away");
  });
  save.wait_until_read();
  EXPECT_STREQ(save.wait().error().code(), err::kNoCheckpoint.id);
}

TEST(BackgroundSave, ABugIsThrownByWait) {
  BackgroundSave save(
      [](const std::function<void()>&) -> Status { throw std::logic_error("a mistake"); });
  save.wait_until_read();
  EXPECT_THROW((void)save.wait(), std::logic_error);
}

}  // namespace
}  // namespace hone
