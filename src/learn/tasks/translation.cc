// Translation from one language to another: run_translation.
#include "learn/tasks/errors.h"
#include "learn/tasks/seq2seq.h"

namespace hone {
namespace {

struct TranslationSettings : Seq2SeqSettings {
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

Status check_translation(const TranslationSettings& s) {
  if (s.source_lang.empty() || s.target_lang.empty())
    return Error(err::kLanguages, "a translation is from one language to another")
        .at(s.source_lang.empty() ? "--source_lang" : "--target_lang")
        .todo("name both, such as --source_lang en --target_lang de");
  if (language_key(s.source_lang) == language_key(s.target_lang))
    return Error(err::kLanguages, fmt::format("--source_lang and --target_lang are both '{}'",
                                              language_key(s.source_lang)))
        .todo("name two languages");
  return Ok{};
}

PairColumnOptions translation_wanted(const TranslationSettings& s) {
  PairColumnOptions wanted;
  wanted.source_lang = s.source_lang;
  wanted.target_lang = s.target_lang;
  return wanted;
}

SampleProject translation_sample() {
  return {.model = tiny_encoder_decoder(),
          .row = [](int i) -> OrderedJson {
            const std::string time = sample_sentence(i).time;
            return {{"translation",
                     {{"en", fmt::format("the ferry leaves at {}", time)},
                      {"de", fmt::format("die Faehre faehrt um {}", time)}}}};
          },
          .flags = {{"source_lang", "en"},
                    {"target_lang", "de"},
                    {"max_source_length", 64},
                    {"max_target_length", 48}}};
}

}  // namespace

Task task_translation() {
  const auto s = std::make_shared<TranslationSettings>();
  const auto key = [s](bool target) {
    return language_key(target ? s->target_lang : s->source_lang);
  };
  return seq2seq_task(
      {.name = "translation",
       .summary = "translations, by an encoder-decoder",
       .settings = s,
       .bind =
           [s](Schema& schema) {
             s->bind(schema);
             s->Seq2SeqSettings::bind(schema);
           },
       .check = [s] { return check_translation(*s); },
       .wanted = [s] { return translation_wanted(*s); },
       .side =
           [s](bool targets) {
             return TokenizerSide{targets, s->source_lang, s->target_lang};
           },
       .beams = [s] { return s->num_beams; },
       .metric = "bleu",
       .compared_by = "bleu",
       .sample = translation_sample(),
       .task_key = [key] { return fmt::format("translation_{}_to_{}", key(false), key(true)); },
       .usual_prefix =
           [key] {
             return fmt::format("translate {} to {}: ", spelt(key(false)), spelt(key(true)));
           }});
}

}  // namespace hone
