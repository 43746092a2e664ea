#include "learn/tasks/seq2seq_settings.h"

#include "base/core/text.h"
#include "learn/harness/encode.h"
#include "learn/pretrained/open.h"

namespace hone {

Result<PairTokenizers> open_pair_tokenizers(const Seq2Seq& q, const Pretrained& model) {
  const Seq2SeqSettings& s = *q.settings;
  HONE_TRY(tokenizer_of(model));
  const OpenOptions options = open_options(s);
  const std::string name = s.tokenizer_name.empty() ? model.path : s.tokenizer_name;
  std::optional<Tokenizer> sources = model.tokenizer;
  if (!q.side(false).source_lang.empty())
    sources = HONE_TRY(open_tokenizer(name, options, q.side(false)));
  Tokenizer targets = HONE_TRY(open_tokenizer(name, options, q.side(true)));
  return PairTokenizers{std::move(*sources), std::move(targets)};
}

std::optional<TaskPrefix> task_prefix(const Seq2Seq& q, const ModelConfig& config) {
  if (const auto tasks = config.config.find("task_specific_params");
      tasks != config.config.end() && tasks->is_object() && tasks->contains(q.task_key())) {
    const Json& own = (*tasks)[q.task_key()];
    if (own.is_object() && own.contains("prefix") && own["prefix"].is_string())
      if (const auto text = own["prefix"].get<std::string>(); !trim(text).empty())
        return TaskPrefix{text, true};
  }
  if (config.text("model_type", "") != "t5") return {};
  return TaskPrefix{q.usual_prefix(), false};
}

#define HONE_BIND Seq2SeqSettings::bind
#define HONE_SETTINGS "learn/tasks/seq2seq_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone
