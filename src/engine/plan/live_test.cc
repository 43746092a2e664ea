// The tree against a plain array.
#include "engine/plan/live.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace hone {
namespace {

TEST(LiveBytes, IsTheSumOfAllLifetimes) {
  std::mt19937 rng(1);
  for (const int32_t nodes : {1, 2, 3, 64, 100}) {
    LiveBytes live(nodes);
    std::vector<int64_t> plain(static_cast<size_t>(nodes), 0);
    for (int i = 0; i < 200; ++i) {
      const auto any = [&](int32_t below) {
        return static_cast<int32_t>(rng() % static_cast<uint32_t>(below));
      };
      const int32_t first = any(nodes + 2) - 1, last = any(nodes + 2), bytes = any(1000);
      live.add(first, last, bytes);
      for (int32_t n = std::max(first, 0); n <= std::min(last, nodes - 1); ++n)
        plain[static_cast<size_t>(n)] += bytes;
      const auto most = std::max_element(plain.begin(), plain.end());
      ASSERT_EQ(live.most(), *most) << nodes << " nodes, change " << i;
      ASSERT_EQ(live.where(), most - plain.begin());
      const int32_t node = any(nodes);
      ASSERT_EQ(live.at(node), plain[static_cast<size_t>(node)]);
    }
  }
}

}  // namespace
}  // namespace hone
