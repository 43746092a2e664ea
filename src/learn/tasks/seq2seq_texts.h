// Generates the texts of an encoder-decoder's evaluation and prediction, in the run's own session.
#pragma once

#include "learn/generate/generate.h"
#include "learn/harness/run/task_run.h"
#include "learn/metrics/metric.h"
#include "learn/metrics/sentences.h"
#include "learn/tasks/seq2seq_settings.h"

namespace hone {

// The generation config of evaluations: the model's generation config with the length and the number of beams that the
// run's settings give. Errors: those of the model's generation config.
Result<GenerationConfig> evaluated_generation(const Seq2Seq& q, const Pretrained& model);

class GeneratedTexts {
 public:
  // Decides how texts are generated (evaluated_generation), as run_summarization does. Writes the chosen length and
  // number of beams into model.generation_config, which training saves as generation_config.json. `targets`: the
  // tokenizer that decodes the generated texts. `model` must outlive the result.
  static Result<std::shared_ptr<GeneratedTexts>> make(const Seq2Seq& q, Pretrained& model,
                                                      const Tokenizer& targets);

  // Returns the metrics of the rows [begin, end) of Examples::eval: the loss and, with predict_with_generate, the
  // metrics of generated texts. `texts`: with predict_with_generate, receives the generated texts; null: they are not
  // needed. Returns an empty object if a stop was requested before the end.
  Result<OrderedJson> evaluate(TaskRun& run, int64_t begin, int64_t end,
                               std::vector<std::string>* texts);
  // Returns the metrics of the rows to predict, [begin, end) of Examples::eval, as evaluate(). If the rows have no
  // targets, the metrics are only "samples" and "gen_len" (GeneratedLengths). With predict_with_generate, rank 0 writes
  // generated_predictions.txt into the folder: a line for each row. Returns an empty object, and writes no file, if a
  // stop was requested before the end.
  Result<OrderedJson> predict(TaskRun& run, int64_t begin, int64_t end, const std::string& folder);
  // Writes the source and target language of mBART's tokenizer into the folder's tokenizer_config.json. Does nothing
  // for other models.
  Status save_languages(const std::string& folder) const;

 private:
  GeneratedTexts(const Seq2Seq& q, const Pretrained& model, Tokenizer targets)
      : q_(q), model_(model), targets_(std::move(targets)) {}
  Status choose_generation(Pretrained& model);
  // Generates a text for each row of [begin, end), and adds the metrics of the texts to `metrics`. Returns false if a
  // stop was requested before the end.
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
