// "Sequence": decoders one after the other. Up to "Fuse" they see token by token; after it the
// whole text, where hone carries out "Strip" at the beginning.
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class SequenceDecoder : public Decoder {
 public:
  SequenceDecoder(std::vector<std::unique_ptr<Decoder>> steps, Lead lead)
      : steps_(std::move(steps)), lead_(std::move(lead)) {}

  void append_token(std::string_view token, bool first, std::string& out) const override {
    std::string text(token), next;
    for (const auto& step : steps_) {
      next.clear();
      step->append_token(text, first, next);
      text.swap(next);
    }
    out += text;
  }
  int byte_of(std::string_view token) const override {
    std::string text(token), next;
    for (const auto& step : steps_) {
      if (const int byte = step->byte_of(text); byte >= 0) return byte;
      next.clear();
      step->append_token(text, false, next);
      text.swap(next);
    }
    return -1;
  }
  Lead lead() const override { return lead_; }

 private:
  std::vector<std::unique_ptr<Decoder>> steps_;
  Lead lead_;
};

Result<std::unique_ptr<Decoder>> make_decoder_sequence(const JsonAt& spec,
                                                       const StageContext& context) {
  const JsonAt list = HONE_TRY(spec.get("decoders"));
  std::vector<std::unique_ptr<Decoder>> steps;
  Decoder::Lead lead;
  bool fused = false;
  size_t index = 0;
  for (const JsonElement step : HONE_TRY(list.array())) {
    const JsonAt at = list.item(step, index++);
    auto made = HONE_TRY(make_decoder(at, context));
    const std::string_view type = HONE_TRY(at.string("type"));
    if (!fused) {
      steps.push_back(std::move(made));
    } else if (type == "Strip" && lead.count == 0 &&
               HONE_TRY(HONE_TRY(at.get("stop")).integer()) == 0) {
      lead.content = HONE_TRY(at.string("content"));
      lead.count = HONE_TRY(HONE_TRY(at.get("start")).integer());
    } else if (type != "Fuse") {
      return Error(err::kTokenizerStage, fmt::format("the decoder \"{}\" after \"Fuse\"", type))
          .at(at.where)
          .todo("after Fuse hone carries out one Strip, at the beginning of the text (stop 0)");
    }
    fused = fused || type == "Fuse";
  }
  return std::unique_ptr<Decoder>(
      std::make_unique<SequenceDecoder>(std::move(steps), std::move(lead)));
}

}  // namespace

StageType tokenizer_stage_decoder_sequence() {
  return {.types = {"Sequence"}, .decoder = make_decoder_sequence};
}

}  // namespace hone
