#include "operate/serve/example.h"

#include "base/store/http.h"

namespace hone {

Json example_instance(const ServedModel& model) {
  // A PNG of one grey pixel.
  constexpr const char* kPixel =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAA"
      "AACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg==";
  if (model.task() == ServedTask::image_classification) return {{"b64", kPixel}};
  if (model.task() == ServedTask::question_answering)
    return {{"question", kExampleQuestion}, {"context", kExampleFact}};
  if (model.reads_pairs()) return {{"text", kExampleFact}, {"text_pair", kExampleText}};
  // A model that was tuned on prompts may end at once after a sentence, and cannot know a fact.
  const std::string& learnt = model.trained_on();
  if (model.task() == ServedTask::generation && !learnt.empty() && learnt != "clm")
    return kExamplePrompt;
  if (model.task() != ServedTask::fill_mask) return kExampleText;
  const int32_t mask = model.tokenizer().mask_id().value_or(0);  // a masked model has one
  return "The " + model.tokenizer().decode(std::span(&mask, 1)) + " leaves at nine.";
}

std::string example_route(const ServedModel& model) {
  return model.knows_chats() ? kChatRoute : "/v1/models/" + url_encoded(model.name()) + ":predict";
}

}  // namespace hone
