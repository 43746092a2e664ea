// Classification of images (run_image_classification).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/core/log.h"
#include "base/settings/errors.h"
#include "base/store/store.h"
#include "engine/ops/image_ops.h"
#include "learn/harness/errors.h"
#include "learn/harness/example_scores.h"
#include "learn/harness/run/task_run.h"
#include "learn/models/image_model.h"
#include "learn/tasks/classification_metrics.h"
#include "learn/tasks/image_classification_check.h"
#include "learn/tasks/image_classification_data.h"
#include "learn/tasks/image_loss.h"
#include "learn/tasks/image_media.h"
#include "learn/tasks/image_pixels.h"
#include "learn/tasks/sample_images.h"
#include "learn/train/ledger.h"

namespace hone {
namespace {

using ImageSettings = ImageClassificationSettings;
constexpr const char* kImages = "images";  // the axis: a row is one image
constexpr size_t kTop = 5;

// Inputs: those of image_pixels.h, and in training rng and scale. Evaluation gives logits f32[B,classes], its input
// present and, with logs_features(), features f32[B,C].
Program image_program(const ImageSettings& s, const ImageProcessor& size, const ModelConfig& config,
                      const BatchShape& shape, const std::string& name, bool train) {
  Program p(op_table(), name);
  Builder b(p);
  ModelGraph g(b, config, train ? ModelGraph::Mode::train : ModelGraph::Mode::eval);
  const int64_t images = shape[kImages];
  const int64_t height = shape.has(kSide) ? shape[kSide] : size.height,
                width = shape.has(kSide) ? shape[kSide] : size.width;
  const Status fits = add_image_inputs(g, images, height, width);
  HONE_BUG_IF(!fits.ok(), "{}", fits.error().text());  // processor_of() asks for the same
  const bool soft = train && s.has_shares();
  ValueId labels = kNoValue, scale = kNoValue, present = kNoValue;
  if (soft)
    labels = p.add_input("shares", {DType::f32, {images, config.labels}});
  else if (train)
    labels = p.add_input("labels", {DType::i32, {images}});
  else
    present = p.add_input("present", {DType::f32, {images}});
  if (train) scale = p.add_input("scale", {DType::f32, {}});
  add_model_states(g, train);
  const HeadLayer head = model_head(g);
  Builder::Scope scope(b, "head");
  if (!train) {
    p.outputs.push_back({"logits", logits_of(b, head)});
    const ValueId none = ops::constant(b, 0, {DType::f32, {}});
    p.outputs.push_back({"present", ops::maximum(b, none, present)});
    if (s.logs_features()) p.outputs.push_back({"features", head.x});
  } else if (soft && s.bce_loss) {
    p.outputs.push_back(
        {"loss", binary_cross_entropy(b, logits_of(b, head), labels, scale,
                                      {.threshold = s.bce_target_thresh, .sums = s.bce_sum})});
  } else if (soft) {
    p.outputs.push_back(
        {"loss", ops::soft_cross_entropy(b, logits_of(b, head), labels, scale).loss});
  } else {
    p.outputs.push_back(
        {"loss", ops::linear_cross_entropy(b, head.x, head.weight, labels, scale, true,
                                           s.label_smoothing_factor, head.bias)
                     .loss});
  }
  return p;
}

// The data of a run beside its rows.
struct ImageRun {
  ImageRun(std::shared_ptr<const ImageSettings> settings, const ModelConfig& model)
      : s(std::move(settings)), config(model) {}
  std::shared_ptr<const ImageSettings> s;
  const ModelConfig& config;
  ImageProcessor processor;
  std::vector<std::string> names;
  std::unique_ptr<ImagePixels> pixels;
  std::unique_ptr<ImageMedia> media;  // null: none is logged
  int64_t evaluated = 0, predicted = 0;
  double begun = -1;  // the first step, in seconds of the clock
};

struct ImagePrediction {
  int64_t label = -1;  // -1: an image that is skipped
  double probability = 0;
};

class ImageEvaluation : public EvalMetrics {
 public:
  // `predictions` gets those of the rows after the evaluated ones.
  ImageEvaluation(std::shared_ptr<const ImageRun> run, std::vector<ImagePrediction>* predictions)
      : run_(std::move(run)),
        metrics_({.labels = run_->config.labels}, run_->s->per_device_eval_batch_size,
                 run_->s->label_smoothing_factor),
        predictions_(predictions) {}

  bool add(const CollatedRows& rows, const Batch& outputs) override {
    const auto logits = outputs.get<const float>("logits");
    const auto present = outputs.get<const float>("present");
    const auto classes = static_cast<size_t>(run_->config.labels);
    const auto features = run_->media && run_->s->logs_features()
                              ? outputs.get<const float>("features")
                              : std::span<const float>();
    const size_t width = features.size() / present.size();
    for (size_t q = 0; q < rows.rows.rows.size(); ++q) {
      const int64_t row = rows.rows.rows[q];
      const auto of_row = logits.subspan(q * classes, classes);
      if (!std::all_of(of_row.begin(), of_row.end(), [](float x) { return std::isfinite(x); }))
        return false;
      const bool skipped = present[q] == 0;
      if (row >= run_->evaluated) {
        ImagePrediction& to = (*predictions_)[static_cast<size_t>(row - run_->evaluated)];
        if (!skipped)
          to = {predicted_class(of_row), std::exp(-nll(of_row, predicted_class(of_row)))};
      } else if (skipped) {
        ++skipped_;
      } else {
        add_labelled(row, of_row, features.subspan(q * width, width));
      }
    }
    return true;
  }
  double loss() const override { return metrics_.rows() == 0 ? NAN : metrics_.loss(); }
  OrderedJson values(int64_t rows) const override {
    if (metrics_.rows() == 0) return {{"samples", rows}};
    OrderedJson out = metrics_.values("");
    if (run_->config.labels > static_cast<int64_t>(kTop))
      out["top5_accuracy"] = static_cast<double>(among_top_) / static_cast<double>(metrics_.rows());
    out["samples"] = run_->evaluated;
    if (skipped_ > 0) out["unreadable"] = skipped_;
    return out;
  }

 private:
  static double nll(std::span<const float> logits, int64_t label) {
    return cross_entropy(logits, static_cast<size_t>(label), 0);
  }

  void add_labelled(int64_t row, std::span<const float> logits, std::span<const float> features) {
    const int64_t label = run_->pixels->eval().label(row), best = predicted_class(logits);
    metrics_.add(row, logits, label);
    const float own = logits[static_cast<size_t>(label)];
    size_t before = 0;
    for (size_t c = 0; c < logits.size(); ++c)
      before += logits[c] > own || (logits[c] == own && static_cast<int64_t>(c) < label);
    among_top_ += before < kTop;
    if (run_->media)
      run_->media->add_evaluated({row, label, best, std::exp(-nll(logits, best)), features});
    ExampleScores* examples = run_->s->example_scores.get();
    if (!examples) return;
    examples->add(
        row, {{kExampleNumber, run_->pixels->eval().number(row)},
              {"image", run_->pixels->eval().name(row)},
              {"prediction", run_->names[static_cast<size_t>(best)]},
              {"probability", std::exp(-nll(logits, best))},
              {"reference", run_->names[static_cast<size_t>(label)]},
              {"reference_probability", std::exp(-nll(logits, label))},
              {"scores",
               {{"accuracy", best == label ? 1 : 0}, {"nll", nll(logits, label)}, {"tokens", 1}}}});
  }

  std::shared_ptr<const ImageRun> run_;
  ClassificationMetrics metrics_;
  std::vector<ImagePrediction>* predictions_;
  int64_t among_top_ = 0, skipped_ = 0;
};

// Gives the log the images of this micro-batch, as `batch` has them for the model.
void log_batch(const ImageRun& x, const CollatedRows& rows, const Batch& batch) {
  const std::span<const int64_t> places = rows.rows.rows;
  MediaBatch of;
  of.pixels = batch.get<const float>("pixels");
  if (x.s->has_shares())
    of.shares = batch.get<const float>("shares");
  else
    of.ids = batch.get<const int32_t>("labels");
  of.width = x.pixels->training_size().width, of.height = x.pixels->training_size().height;
  for (const int64_t place :
       places.first(std::min(places.size(), static_cast<size_t>(x.s->log_images))))
    of.files.push_back(x.pixels->training_name(place));
  x.media->add_batch(of);
}

Result<OrderedJson> evaluate_with_media(const std::shared_ptr<ImageRun>& x, TaskRun& run) {
  x->media->begin_evaluation();
  ImageEvaluation evaluation(x, nullptr);
  const int64_t rows = HONE_TRY(run.evaluate_rows(0, x->evaluated, evaluation));
  if (rows < 0) return OrderedJson::object();  // stopped
  x->media->end_evaluation(
      [&](int64_t row, Image& to) { return x->pixels->evaluated_image(row, to); },
      [&](int64_t row) { return x->pixels->eval().name(row); });
  return evaluation.values(rows);
}

// Adds the images of the run's log.
void add_media(const std::shared_ptr<ImageRun>& x, Examples& to) {
  x->media = std::make_unique<ImageMedia>(*x->s, x->processor, x->names, x->evaluated);
  to.held_bytes += x->media->memory_bytes();
  to.collate = [x](const CollatedRows& rows, Batch& batch) -> Result<bool> {
    const bool more = HONE_TRY(x->pixels->collate(rows, batch));
    if (rows.training() && x->media->wants_batch(rows.step)) log_batch(*x, rows, batch);
    return more;
  };
  to.evaluate = [x](TaskRun& run) { return evaluate_with_media(x, run); };
  to.media = [x] { return x->media->take(); };
}

// predict_results.txt: a line for each image, with the label and its probability.
Result<OrderedJson> predict_images(const std::shared_ptr<const ImageRun>& x, TaskRun& run,
                                   const std::string& folder) {
  std::vector<ImagePrediction> predictions(static_cast<size_t>(x->predicted));
  ImageEvaluation evaluation(x, &predictions);
  if (HONE_TRY(run.evaluate_rows(x->evaluated, x->evaluated + x->predicted, evaluation)) < 0)
    return OrderedJson::object();  // stopped
  if (!run.ranks().leads()) return OrderedJson::object();
  std::string text = "image\tprediction\tprobability\n";
  int64_t skipped = 0;
  for (int64_t i = 0; i < x->predicted; ++i) {
    const ImagePrediction& p = predictions[static_cast<size_t>(i)];
    const std::string name = x->pixels->eval().name(x->evaluated + i);
    skipped += p.label < 0;
    text += p.label < 0 ? fmt::format("{}\t\t\n", name)
                        : fmt::format("{}\t{}\t{:.6f}\n", name,
                                      x->names[static_cast<size_t>(p.label)], p.probability);
  }
  if (skipped > 0)
    log_warning("{} of {} images cannot be read and have no prediction", skipped, x->predicted);
  const std::string file = folder + "/predict_results.txt";
  log_info("{:<11} {}", "predicted", file);
  HONE_TRY(file_store().write(file, text));
  return OrderedJson::object();
}

// A row of one element for each image.
std::optional<ExampleRows> rows_of(int64_t count) {
  TokenRows rows;
  constexpr int32_t kOne = 1;
  for (int64_t i = 0; i < count; ++i) rows.add({&kOne, 1});
  return ExampleRows(std::move(rows));
}

// Says when steps waited for their images.
void report_waits(const ImageRun& x) {
  if (x.begun < 0) return;
  const double all = system_clock().seconds() - x.begun, waited = x.pixels->waited_seconds();
  constexpr double kMuch = 0.1;
  if (waited > kMuch * all)
    log_warning(
        "input-bound: {:.0f} % of the time went into waits for images; more cores or smaller files "
        "help",
        100 * waited / all);
}

// The functions before the first step and after the last one.
void add_ends(const std::shared_ptr<ImageRun>& x, Examples& to) {
  // The first images are read and decoded while the run gets ready.
  to.opened = [x](TaskRun& run) -> Status {
    if (x->s->do_train && x->s->continued_from.empty()) x->pixels->start_steps(run, 0);
    return Ok{};
  };
  to.ended = [x](TaskRun&) -> Status {
    report_waits(*x);
    return Ok{};
  };
}

Result<Examples> image_examples(const std::shared_ptr<ImageSettings>& s, Pretrained& model,
                                const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  ImageSplits data = HONE_TRY(read_image_splits(*s, model));
  show_notes(schema_of(*s), data.notes);
  HONE_TRY(set_head(model.config, Head::image_classification, data.names));
  const auto x = std::make_shared<ImageRun>(s, model.config);
  x->processor = HONE_TRY(processor_of(*s, model));
  const TrainingSizes sizes = HONE_TRY(training_sizes(*s, model, x->processor));
  x->names = data.names;
  x->evaluated = data.evaluated, x->predicted = data.predicted;
  Examples out;
  if (data.train) {
    // The settings that decide pixels are a part of the rows.
    out.hash = fnv1a(settings_that_decide(schema_of(*s), "rows").dump(), data.train->hash());
  }
  if (data.eval) out.eval = rows_of(data.eval->size());
  out.evaluated = data.evaluated;
  out.train_rows_read = data.train_rows_read;
  x->pixels = std::make_unique<ImagePixels>(
      *s, x->processor, sizes, data.train ? std::move(*data.train) : ImageRows(),
      data.eval ? std::move(*data.eval) : ImageRows(), model.config.labels, source.pool);
  if (data.train) out.train = rows_of(x->pixels->order().places());
  if (x->pixels->order().repeats())
    out.reorder = [](std::span<int64_t> order, int64_t) {
      std::iota(order.begin(), order.end(), int64_t{0});
    };
  out.held_bytes = x->pixels->memory_bytes(s->rank_rows() * s->gradient_accumulation_steps,
                                           s->per_device_eval_batch_size);
  out.collate = [x](const CollatedRows& rows, Batch& to) { return x->pixels->collate(rows, to); };
  out.normaliser = [](int64_t, const StepPlan& plan, const auto&, const auto&) {
    return plan.rows;
  };
  out.before_step = [x](TaskRun& run, int64_t step, const BatchRows& rows) -> Status {
    if (x->begun < 0) x->begun = system_clock().seconds();
    x->pixels->begin_step(run, step, rows.rows);
    return Ok{};
  };
  if (!sizes.sizes.sides().empty())
    out.side_of_step = [x, sizes = sizes.sizes](int64_t) {
      return sizes.index(x->pixels->epoch());
    };
  out.waited_seconds = [x] { return x->pixels->waited_seconds(); };
  out.metrics = [x](int64_t) { return std::make_unique<ImageEvaluation>(x, nullptr); };
  out.predict = [x](TaskRun& run, const std::string& folder) {
    return predict_images(x, run, folder);
  };
  out.saved = [x](const std::string& folder) {
    return file_store().write(folder + "/" + kProcessorFile, x->processor.json.dump(2) + "\n");
  };
  add_ends(x, out);
  if (s->logs_media() && s->ranks->leads()) add_media(x, out);
  return out;
}

Status choose_image_head(const ImageSettings& s, ModelConfig& config) {
  if (s.streaming)
    return Error(err::kStreaming, "image classification lists its rows before the first step")
        .todo("leave --streaming out: images are read when they are needed");
  config.layer_decay = s.layer_decay;
  return set_head(config, Head::image_classification, label_names(config));
}

// Refuses batch norms that differ between ranks.
Status check_sync(const ImageSettings& s, const ModelConfig& config) {
  if (s.sync_bn || s.ranks->data().ranks == 1 || moved_statistics(config).empty()) return Ok{};
  return Error(err::kSettingChoice,
               "batch norms that take the statistics of each rank alone are not supported")
      .at("--sync_bn false")
      .todo("leave it out: statistics are those of the images of all ranks");
}

RunForm form_of(const ImageSettings& s, const ImageProcessor& size) {
  return RunForm{.limits = {{kImages, 1, "image_size", 0}},
                 .packs_rows = false,
                 .even_steps = true,
                 .row_text = fmt::format("{} x {} pixels", size.width, size.height),
                 .row_values = size.width * size.height * 3,
                 .replaces_head = s.ignore_mismatched_sizes};
}

Status settle_images(ImageSettings& s) {
  HONE_TRY(ImageSizes::make(s.image_size_by_epoch, 1));
  if (s.train_val_split) s.validation_split_percentage = 100 * *s.train_val_split;
  if (s.crop_least_area > s.crop_most_area || s.crop_least_ratio > s.crop_most_ratio)
    return Error(err::kSettingChoice, "the smallest random part is larger than the largest")
        .at("--crop_least_area, --crop_most_area, --crop_least_ratio, --crop_most_ratio")
        .todo("give least values that are not above the most");
  if (!s.bce_loss && (s.bce_sum || s.bce_target_thresh > 0))
    return Error(err::kSettingChoice, "these belong to --bce_loss, which is not given")
        .at("--bce_sum, --bce_target_thresh")
        .todo("give --bce_loss too, or leave them out");
  return Ok{};
}

}  // namespace

Task image_classification_task(std::shared_ptr<ImageClassificationSettings> s) {
  Task t;
  t.name = "image_classification";
  t.summary = "a class for each image";
  t.metric = "accuracy";
  t.metrics = [] { return std::vector<std::string>{"accuracy", "top5_accuracy", "loss"}; };
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.settle = [s](const Schema&) { return settle_images(*s); };
  t.choose_head = [s](ModelConfig& config) { return choose_image_head(*s, config); };
  // The size of images is known when the form is asked for, before any program.
  const auto size = std::make_shared<ImageProcessor>();
  t.form = [s, size](const Pretrained& model) -> Result<RunForm> {
    HONE_TRY(check_sync(*s, model.config));
    *size = HONE_TRY(processor_of(*s, model));
    RunForm form = form_of(*s, *size);
    form.sides = HONE_TRY(training_sizes(*s, model, *size)).sizes.sides();
    return form;
  };
  t.program = [s, size](const auto&... a) { return image_program(*s, *size, a...); };
  t.examples = [s](Pretrained& model, const ExampleSource& source) {
    return image_examples(s, model, source);
  };
  t.reads_text = false;
  t.predicts = true;
  t.check_rows = [s](const CheckRequest& r, Findings& findings) {
    return check_images(*s, r, findings);
  };
  return t;
}

Task task_image_classification() {
  Task t = image_classification_task(std::make_shared<ImageClassificationSettings>());
  t.sample = SampleProject{.model = tiny_image_model(), .files = sample_images};
  return t;
}

}  // namespace hone
