#include "learn/check/sample_text.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/data/batches/batch.h"

namespace hone {
namespace {

constexpr const char *kPlain = "\x1b[0m", *kHidden = "\x1b[31m", *kLabel = "\x1b[32m";

std::string piece_of(const Tokenizer& tokenizer, int32_t id) {
  std::string piece = preview(tokenizer.decode_bytes(std::span(&id, 1)), 60);
  for (size_t bad; (bad = find_bad_utf8(piece)) != std::string::npos;)
    piece.replace(bad, 1, fmt::format("\\x{:02x}", static_cast<unsigned char>(piece[bad])));
  return piece;
}

}  // namespace

std::string sample_text(const Tokenizer& tokenizer, const SampleRow& row, bool color) {
  constexpr size_t kShown = 40;
  if (row.ids.empty()) return "(no tokens)";
  std::string text;
  for (size_t i = 0; i < std::min(row.ids.size(), kShown); ++i) {
    const bool hidden = !row.labels.empty() && row.labels[i] != kIgnoreLabel;
    const std::string piece = piece_of(tokenizer, row.ids[i]);
    const std::string label = hidden ? piece_of(tokenizer, row.labels[i]) : "";
    if (!color)
      text += (i ? "|" : "") + piece + (hidden ? ">" + label : "");
    else if (hidden)
      text += kHidden + piece + kLabel + label;
    else
      text += fmt::format("\x1b[{}m{}", i % 2 ? 36 : 33, piece);
  }
  if (color) text += kPlain;
  if (row.ids.size() > kShown) text += fmt::format(" ... {} tokens", row.ids.size());
  if (row.label.empty()) return text;
  return text + " -> " + (color ? kLabel + row.label + kPlain : row.label);
}

}  // namespace hone
