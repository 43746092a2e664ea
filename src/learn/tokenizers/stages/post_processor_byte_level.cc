// "ByteLevel": only trims offsets, which hone does not keep; ids pass unchanged.
#include "learn/tokenizers/stages/stages.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

class ByteLevelPostProcessor : public PostProcessor {
 public:
  void process(std::vector<Encoding>&) const override {}
};

Result<std::unique_ptr<PostProcessor>> make_post_processor_byte_level(const JsonAt&,
                                                                      const StageContext&) {
  return std::unique_ptr<PostProcessor>(std::make_unique<ByteLevelPostProcessor>());
}

}  // namespace

StageType tokenizer_stage_post_processor_byte_level() {
  return {.types = {"ByteLevel"}, .post_processor = make_post_processor_byte_level};
}

}  // namespace hone
