// Translation from one language to another: run_translation.
#include "learn/tasks/seq2seq.h"
#include "learn/tasks/task.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

struct TranslationOwnSettings {
#define HONE_SETTINGS "learn/tasks/translation_settings.def"
#include "base/settings/fields.inc"
};

// The languages that T5 was trained with are spelt out in its prefixes.
std::string spelt(const std::string& code) {
  static const std::map<std::string, std::string> names = {
      {"en", "English"}, {"de", "German"}, {"fr", "French"}, {"ro", "Romanian"}};
  const auto name = names.find(code);
  return name == names.end() ? code : name->second;
}

class TranslationSettings : public Seq2SeqSettings, public TranslationOwnSettings {
 public:
  using TaskSettings::bind;
  void bind_own(Schema& schema) override {
    TranslationOwnSettings::bind(schema);
    Seq2SeqSettings::bind_own(schema);
  }
  Status check() const override {
    if (source_lang.empty() || target_lang.empty())
      return Error(err::kNoData, "a translation is from one language to another")
          .at(source_lang.empty() ? "--source_lang" : "--target_lang")
          .todo("name both, such as --source_lang en --target_lang de");
    if (language_key(source_lang) == language_key(target_lang))
      return Error(err::kNoData, fmt::format("--source_lang and --target_lang are both '{}'",
                                             language_key(source_lang)))
          .todo("name two languages");
    return Ok{};
  }
  PairColumnOptions wish() const override {
    PairColumnOptions wish;
    wish.source_lang = source_lang;
    wish.target_lang = target_lang;
    return wish;
  }
  TokenizerSide side(bool targets) const override { return {targets, source_lang, target_lang}; }
  std::optional<int64_t> beams() const override { return num_beams; }
  std::string metric() const override { return "bleu"; }
  std::string task_key() const override {
    return fmt::format("translation_{}_to_{}", language_key(source_lang),
                       language_key(target_lang));
  }
  std::string usual_prefix() const override {
    return fmt::format("translate {} to {}: ", spelt(language_key(source_lang)),
                       spelt(language_key(target_lang)));
  }
};

}  // namespace

Task task_translation() {
  return {.name = "translation", .summary = "translations, by an encoder-decoder", .settings = [] {
            return std::unique_ptr<TaskSettings>(new TranslationSettings);
          }};
}

}  // namespace hone
