// The result of a chat template, and the limits of its run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

struct ChatLimits {
  int64_t steps = 5'000'000;
  int64_t bytes = int64_t{256} << 20;  // of all texts and lists that are made
  int64_t text = int64_t{32} << 20;    // of one
  int depth = 400;                     // nesting of values and blocks, macros included
};

// Bytes [from, to) of a text.
struct ChatSpan {
  size_t from, to;
  bool operator==(const ChatSpan&) const = default;
};
struct ChatText {
  std::string text;
  std::vector<ChatSpan> generated;  // output of {% generation %} blocks: the assistant's answers
};

}  // namespace hone
