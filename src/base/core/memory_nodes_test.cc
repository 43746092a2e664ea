#include "base/core/memory_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MemoryNodes, ListsAreRead) {
  EXPECT_THAT(parse_node_list("0\n"), ElementsAre(0));
  EXPECT_THAT(parse_node_list("0-1,4"), ElementsAre(0, 1, 4));
  EXPECT_THAT(parse_node_list("2,8-10\n"), ElementsAre(2, 8, 9, 10));
  for (const char* text : {"", "\n", "x", "0,", ",0", "0-", "3-1", "-1", "0;1", "1,0", "0,0", "0 1",
                           "0-1024", "0-99999999999"})
    EXPECT_THAT(parse_node_list(text), IsEmpty()) << text;
}

TEST(MemoryNodes, OnlyTheAllowedOnesAreUsable) {
  EXPECT_THAT(
      usable_nodes("0-3\n", "Name:\thone\nMems_allowed:\t5\nMems_allowed_list:\t0,2\nx:\t1"),
      ElementsAre(0, 2));
  EXPECT_THAT(usable_nodes("0-3\n", "Mems_allowed_list:\t1-2,7"), ElementsAre(1, 2));
  EXPECT_THAT(usable_nodes("0-1\n", "Name:\thone\n"), ElementsAre(0, 1));
  EXPECT_THAT(usable_nodes("", "Mems_allowed_list:\t0\n"), IsEmpty());
}

TEST(MemoryNodes, OneNodeOrAPolicyOfTheUserIsLeftAlone) {
  EXPECT_FALSE(wants_interleaving(0, kDefaultMemoryPolicy));
  EXPECT_FALSE(wants_interleaving(1, kDefaultMemoryPolicy));
  EXPECT_TRUE(wants_interleaving(2, kDefaultMemoryPolicy));
  for (const int policy : {1, 2, 3, 4, 5}) EXPECT_FALSE(wants_interleaving(2, policy)) << policy;
}

TEST(MemoryNodes, MemoryIsUsableWhateverTheSystemAnswers) {
  constexpr size_t kBytes = size_t{4} << 20;
  void* data = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(data, MAP_FAILED);
  const bool done = interleave_over_nodes(data, kBytes);
  if (done) {
    EXPECT_GT(usable_nodes().size(), 1u);
  }
  for (size_t i = 0; i < kBytes; i += 4096) static_cast<char*>(data)[i] = 1;
  munmap(data, kBytes);
}

}  // namespace
}  // namespace hone
