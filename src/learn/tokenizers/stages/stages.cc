#include "learn/tokenizers/stages/stages.h"

#include "base/core/text.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

template <class Stage>
Result<std::unique_ptr<Stage>> make_stages(const JsonAt& spec, const StageContext& context,
                                           std::string_view kind,
                                           StageFactory<Stage> StageType::*factory) {
  static const std::vector<StageType> shelf = all_tokenizer_stage();
  const std::string type(HONE_TRY(spec.string("type")));
  std::vector<std::string> known;
  for (const StageType& entry : shelf) {
    if (!(entry.*factory)) continue;
    for (const std::string& name : entry.types) {
      if (name == type) return (entry.*factory)(spec, context);
      known.push_back(name);
    }
  }
  const std::string nearest = nearest_name(type, known);
  return Error(err::kTokenizerStage, fmt::format("unknown {} \"{}\"", kind, type))
      .at(spec.where)
      .todo(fmt::format("hone reads {}{}", join(known, ", "),
                        nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

}  // namespace

Result<std::unique_ptr<Normalizer>> make_normalizer(const JsonAt& s, const StageContext& c) {
  return make_stages(s, c, "normalizer", &StageType::normalizer);
}
Result<std::unique_ptr<PreTokenizer>> make_pre_tokenizer(const JsonAt& s, const StageContext& c) {
  return make_stages(s, c, "pre_tokenizer", &StageType::pre_tokenizer);
}
Result<std::unique_ptr<Model>> make_model(const JsonAt& s, const StageContext& c) {
  // Files of old versions name no type; what only one has tells it.
  const char* type = s.find("type")                        ? nullptr
                     : s.find("merges")                    ? "BPE"
                     : s.find("continuing_subword_prefix") ? "WordPiece"
                     : s.find("unk_id")                    ? "Unigram"
                                                           : nullptr;
  if (type)
    for (const StageType& entry : all_tokenizer_stage())
      if (entry.model && entry.types.front() == type) return entry.model(s, c);
  return make_stages(s, c, "model", &StageType::model);
}
Result<std::unique_ptr<PostProcessor>> make_post_processor(const JsonAt& s, const StageContext& c) {
  return make_stages(s, c, "post_processor", &StageType::post_processor);
}
Result<std::unique_ptr<Decoder>> make_decoder(const JsonAt& s, const StageContext& c) {
  return make_stages(s, c, "decoder", &StageType::decoder);
}

}  // namespace hone
