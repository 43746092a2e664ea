// "WordPiece": continuing tokens lose their prefix, the others get a space in front, and with
// "cleanup" the spaces before English punctuation and contractions go, token by token.
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class WordPieceDecoder : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup)
      : prefix_(std::move(prefix)), cleanup_(cleanup) {}

  void append_token(std::string_view token, bool first, std::string& out) const override {
    std::string text;
    if (!first && token.starts_with(prefix_))
      token.remove_prefix(prefix_.size());
    else if (!first)
      text = " ";
    text += token;
    if (cleanup_) clean_up(text);
    out += text;
  }

 private:
  static void clean_up(std::string& text) {
    constexpr std::pair<std::string_view, std::string_view> kReplaced[] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : kReplaced)
      for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
        text.replace(at, from.size(), to);
  }

  std::string prefix_;
  bool cleanup_;
};

Result<std::unique_ptr<Decoder>> make_decoder_wordpiece(const JsonAt& spec, const StageContext&) {
  std::string prefix = "##";
  if (const auto at = spec.find("prefix")) prefix = HONE_TRY(at->string());
  const bool cleanup = HONE_TRY(spec.boolean_or("cleanup", true));
  return std::unique_ptr<Decoder>(std::make_unique<WordPieceDecoder>(std::move(prefix), cleanup));
}

}  // namespace

StageType tokenizer_stage_decoder_wordpiece() {
  return {.types = {"WordPiece"}, .decoder = make_decoder_wordpiece};
}

}  // namespace hone
