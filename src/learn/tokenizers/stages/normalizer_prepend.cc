// "Prepend": a text before the text, unless that is empty.
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}

  std::string_view normalize(std::string_view text, std::string& buffer) const override {
    if (text.empty()) return text;
    buffer.assign(prefix_);
    buffer += text;
    return buffer;
  }

 private:
  std::string prefix_;
};

Result<std::unique_ptr<Normalizer>> make_normalizer_prepend(const JsonAt& spec,
                                                            const StageContext&) {
  return std::unique_ptr<Normalizer>(
      std::make_unique<Prepend>(std::string(HONE_TRY(spec.string("prepend")))));
}

}  // namespace

StageType tokenizer_stage_normalizer_prepend() {
  return {.types = {"Prepend"}, .normalizer = make_normalizer_prepend};
}

}  // namespace hone
