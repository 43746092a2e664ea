// The result of a chat template, and the limits of its run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

// Limits of one run of a template. Exceeding one is error H2913.
struct ChatLimits {
  int64_t steps = 5'000'000;           // statements, expressions and loop rounds that are executed
  int64_t bytes = int64_t{256} << 20;  // size of all texts and lists that are created, in bytes
  int64_t text = int64_t{32} << 20;    // size of one text in bytes
  int depth = 400;                     // depth of nested blocks, expressions and calls of macros
};

// Bytes [from, to) of a text.
struct ChatSpan {
  size_t from, to;
  bool operator==(const ChatSpan&) const = default;
};
struct ChatText {
  std::string text;
  // The parts of `text` from {% generation %} blocks: the assistant's answers.
  std::vector<ChatSpan> generated;
};

}  // namespace hone
