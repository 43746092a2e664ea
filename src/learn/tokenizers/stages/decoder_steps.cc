// The steps of SentencePiece's decoders, which "Sequence" joins: "Replace", "ByteFallback",
// "Strip", "Fuse".
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/pattern.h"

namespace hone {
namespace {

class ReplaceDecoder : public Decoder {
 public:
  ReplaceDecoder(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void append_token(std::string_view token, bool, std::string& out) const override {
    append_replaced(*pattern_, token, content_, out);
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

// "<0x0A>" is the byte 10.
class ByteFallback : public Decoder {
 public:
  void append_token(std::string_view token, bool, std::string& out) const override {
    if (const int byte = byte_of(token); byte >= 0)
      out += static_cast<char>(byte);
    else
      out += token;
  }
  int byte_of(std::string_view token) const override {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
    const int high = digit(token[3]), low = digit(token[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
  }

 private:
  static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  }
};

// At most `start` times `content` at the beginning of a token and `stop` times at its end.
class StripDecoder : public Decoder {
 public:
  StripDecoder(std::string content, int64_t start, int64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void append_token(std::string_view token, bool, std::string& out) const override {
    for (int64_t i = 0; i < start_ && token.starts_with(content_); ++i)
      token.remove_prefix(content_.size());
    for (int64_t i = 0; i < stop_ && token.ends_with(content_); ++i)
      token.remove_suffix(content_.size());
    out += token;
  }

 private:
  std::string content_;
  int64_t start_, stop_;
};

class Fuse : public Decoder {
 public:
  void append_token(std::string_view token, bool, std::string& out) const override { out += token; }
};

Result<std::unique_ptr<Decoder>> make_decoder_steps(const JsonAt& spec, const StageContext&) {
  const std::string_view type = HONE_TRY(spec.string("type"));
  std::unique_ptr<Decoder> made;
  if (type == "Replace") {
    auto pattern = HONE_TRY(make_pattern(HONE_TRY(spec.get("pattern"))));
    made = std::make_unique<ReplaceDecoder>(std::move(pattern),
                                            std::string(HONE_TRY(spec.string("content"))));
  } else if (type == "Strip") {
    const std::string_view content = HONE_TRY(spec.string("content"));
    if (content.empty()) return HONE_TRY(spec.get("content")).expected("one character");
    made = std::make_unique<StripDecoder>(std::string(content),
                                          HONE_TRY(HONE_TRY(spec.get("start")).integer()),
                                          HONE_TRY(HONE_TRY(spec.get("stop")).integer()));
  } else if (type == "ByteFallback") {
    made = std::make_unique<ByteFallback>();
  } else {
    made = std::make_unique<Fuse>();
  }
  return made;
}

}  // namespace

StageType tokenizer_stage_decoder_steps() {
  return {.types = {"Replace", "ByteFallback", "Strip", "Fuse"}, .decoder = make_decoder_steps};
}

}  // namespace hone
