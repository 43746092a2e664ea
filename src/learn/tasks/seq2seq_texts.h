// The texts that evaluation and prediction of an encoder-decoder generate, in the run's own
// session.
#pragma once

#include "learn/generate/generate.h"
#include "learn/harness/run/task_run.h"
#include "learn/metrics/metric.h"
#include "learn/metrics/sentences.h"
#include "learn/tasks/seq2seq_settings.h"

namespace hone {

// Settings to generate the texts of evaluations: the model's own with those of the run. Errors: those
// of the model's generation config.
Result<GenerationConfig> evaluated_generation(const Seq2Seq& q, const Pretrained& model);

class GeneratedTexts {
 public:
  // Resolves how texts are generated, as run_summarization does: the model's own settings with the
  // length and beams of the flags. Writes into the model's generation config what training leaves
  // in generation_config.json. `targets`: the tokenizer of the generated texts.
  static Result<std::shared_ptr<GeneratedTexts>> make(const Seq2Seq& q, Pretrained& model,
                                                      const Tokenizer& targets);

  // Metrics of rows [begin, end) of evaluation: losses and, with predict_with_generate, those of
  // their texts, which go to `texts` unless it is null. Empty: a stop was requested.
  Result<OrderedJson> evaluate(TaskRun& run, int64_t begin, int64_t end,
                               std::vector<std::string>* texts);
  // Metrics of rows to predict; none if they have no targets. With predict_with_generate, writes
  // generated_predictions.txt into the folder.
  Result<OrderedJson> predict(TaskRun& run, int64_t begin, int64_t end, const std::string& folder);
  // Writes the languages that mBART's tokenizer was opened for into tokenizer_config.json.
  Status save_languages(const std::string& folder) const;

 private:
  GeneratedTexts(const Seq2Seq& q, const Pretrained& model, Tokenizer targets)
      : q_(q), model_(model), targets_(std::move(targets)) {}
  Status choose_generation(Pretrained& model);
  // A text for each row of [begin, end); false: a stop was requested.
  Result<bool> generate(TaskRun& run, int64_t begin, int64_t end, std::vector<std::string>& texts,
                        OrderedJson& metrics);
  Result<std::vector<Generated>> generate_on_ranks(TaskRun& run, std::span<const Prompt> prompts);
  Status add_example(int64_t row, std::string_view text, std::string_view reference,
                     const MetricOptions& options);
  double metric_scale() const { return q_.metric == "rouge" ? 100 : 1; }  // as run_summarization

  Seq2Seq q_;
  const Pretrained& model_;
  Tokenizer targets_;
  GenerationConfig generation_;
  std::unique_ptr<SentenceSplitter> sentences_;
  std::unique_ptr<Generator> generator_;
};

}  // namespace hone
