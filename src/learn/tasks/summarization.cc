// Summaries of texts: run_summarization.
#include <map>

#include "learn/tasks/seq2seq.h"
#include "learn/tasks/task.h"

namespace hone {
namespace {

struct SummarizationOwnSettings {
#define HONE_SETTINGS "learn/tasks/summarization_settings.def"
#include "base/settings/fields.inc"
};

// The columns that run_summarization knows, by the last part of the data set's name.
struct Columns {
  std::string text, summary;
};
const Columns* known_columns(const std::string& dataset) {
  static const std::map<std::string, Columns> known = {
      {"amazon_reviews_multi", {"review_body", "review_title"}},
      {"big_patent", {"description", "abstract"}},
      {"cnn_dailymail", {"article", "highlights"}},
      {"orange_sum", {"text", "summary"}},
      {"pn_summary", {"article", "summary"}},
      {"psc", {"extract_text", "summary_text"}},
      {"samsum", {"dialogue", "summary"}},
      {"thaisum", {"body", "summary"}},
      {"xglue", {"news_body", "news_title"}},
      {"xsum", {"document", "summary"}},
      {"wiki_summary", {"article", "highlights"}},
      {"multi_news", {"document", "summary"}}};
  const std::string name = dataset.substr(0, dataset.find('@'));
  const auto at = known.find(name.substr(name.find_last_of('/') + 1));
  return at == known.end() ? nullptr : &at->second;
}

class SummarizationSettings : public Seq2SeqSettings, public SummarizationOwnSettings {
 public:
  using TaskSettings::bind;
  void bind_own(Schema& schema) override {
    SummarizationOwnSettings::bind(schema);
    Seq2SeqSettings::bind_own(schema);
  }
  PairColumnOptions wish() const override {
    PairColumnOptions wish;
    if (const Columns* known = known_columns(dataset_name)) {
      wish.source_column = known->text;
      wish.target_column = known->summary;
    }
    if (!text_column.empty()) wish.source_column = text_column;
    if (!summary_column.empty()) wish.target_column = summary_column;
    return wish;
  }
  TokenizerSide side(bool targets) const override { return {targets, lang, lang}; }
  std::optional<int64_t> beams() const override { return num_beams; }
  std::string metric() const override { return "rouge"; }
  std::string nltk_folder() const override { return nltk_data; }
  std::string task_key() const override { return "summarization"; }
  std::string usual_prefix() const override { return "summarize: "; }
};

}  // namespace

Task task_summarization() {
  return {.name = "summarization",
          .summary = "summaries of texts, by an encoder-decoder",
          .settings = [] { return std::unique_ptr<TaskSettings>(new SummarizationSettings); }};
}

}  // namespace hone
