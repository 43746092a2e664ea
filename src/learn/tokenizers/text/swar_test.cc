// Eight bytes at a time against byte by byte.
#include "base/unicode/swar.h"

#include <gtest/gtest.h>

#include "learn/tokenizers/text/pattern.h"
#include "learn/tokenizers/text/piece_cache.h"

namespace hone {
namespace {

// Texts of up to 40 bytes, in which a few bytes, their neighbours and others alternate.
std::vector<std::string> texts() {
  constexpr std::string_view kBytes("  a zAZ@[`{\xe2\x96\x81\x80\xff\x01\x00!\x1f\xa0", 21);
  std::vector<std::string> all = {""};
  uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int n = i % 41; n > 0; --n) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += state >> 60 < 6 ? 'b' : kBytes[(state >> 33) % kBytes.size()];
    }
    all.push_back(text);
  }
  return all;
}

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

TEST(Swar, FindsWhatAWalkFinds) {
  for (const std::string& text : texts()) {
    const char *const begin = text.data(), *const end = begin + text.size();
    for (const char byte : {' ', '\xe2', '\x80', '\0'}) {
      EXPECT_EQ(find_near(begin, end, byte), std::find(begin, end, byte));
      const char* const pair =
          std::adjacent_find(begin, end, [&](char a, char b) { return a == byte && b == byte; });
      EXPECT_EQ(find_twice(begin, end, byte), pair == end ? end : pair + 1);
    }
    EXPECT_EQ(skip_letters(begin, end), std::find_if_not(begin, end, letter));
  }
}

TEST(Swar, ReplacesEveryByte) {
  for (const std::string& text : texts())
    for (const std::string by : {"", "_", "\xe2\x96\x81", "eight by", "more than eight"}) {
      std::string out = "kept ", want = out;
      append_replaced_byte(text, ' ', by, out);
      for (const char c : text) want += c == ' ' ? by : std::string(1, c);
      EXPECT_EQ(out, want);
    }
}

TEST(PieceCache, KeepsShortAndLongPieces) {
  PieceCache cache;
  const auto ids_of = [](std::string_view piece) {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < piece.size(); i += 3)
      ids.push_back(static_cast<int32_t>(piece.size() * 1000 + i));
    return ids;
  };
  int computed = 0;
  const auto compute = [&](std::string_view piece, std::vector<int32_t>& ids) {
    ++computed;
    for (const int32_t id : ids_of(piece)) ids.push_back(id);
  };
  for (int pass = 0; pass < 2; ++pass) {
    computed = 0;
    for (size_t n = 1; n <= 70; ++n) {
      const std::string piece(n, static_cast<char>('a' + n % 26));
      std::vector<int32_t> ids = {7}, want = ids_of(piece);
      append_cached(piece, ids, cache, compute);
      want.insert(want.begin(), 7);
      EXPECT_EQ(ids, want) << n;
    }
    // Those of one place may drive each other out; most stay.
    if (pass == 1) {
      EXPECT_LE(computed, 70 - static_cast<int>(PieceCache::kMostBytes) + 3);
    }
  }
}

}  // namespace
}  // namespace hone
