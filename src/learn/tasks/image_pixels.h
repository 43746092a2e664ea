// Fills the inputs of programs of images: pixels are made by threads, for the next steps while this one runs.
#pragma once

#include "learn/data/images/image_loader.h"
#include "learn/data/images/image_rows.h"
#include "learn/harness/examples.h"
#include "learn/tasks/image_classification_settings.h"
#include "learn/tasks/repeated_rows.h"

namespace hone {

class ImagePixels {
 public:
  // Settings and pool must outlive it. `processor`: of evaluated rows; `classes`: of shares of mixed labels.
  ImagePixels(const ImageClassificationSettings& s, const ImageProcessor& processor,
              const TrainingSizes& sizes, ImageRows train, ImageRows eval, int64_t classes,
              ThreadPool& pool);
  ~ImagePixels();

  // Begins to make the pixels of this step and of the steps after it, unless that was done: of one, of three if images
  // have URLs, whose times vary.
  void start_steps(TaskRun& run, int64_t step);
  // Calls start_steps() and makes ready for the micro-batches of this step. `rows`: those of all ranks.
  void begin_step(TaskRun& run, int64_t step, std::span<const int64_t> rows);
  // Inputs: pixels f32[B,H,W,3]; in training image_ids i64[B], image_count i32[], and labels i32[B] (-100: none) or, with
  // has_shares(), shares f32[B,classes] (0: none); in evaluation present f32[B] (0: no image). Errors: those of decode.h with the
  // name of the file, unless unreadable images are skipped; those of the store.
  Result<bool> collate(const CollatedRows& rows, Batch& to);

  const ImageRows& eval() const { return eval_; }
  // The file of a place of the current step, and the size of its pixels.
  std::string training_name(int64_t place) const { return train_.name(order_.row(epoch_, place)); }
  const TrainingTransform& training_size() const { return training_of(epoch_); }
  // Makes the pixels of an evaluated row, apart from the batches. Errors: those of collate().
  Status evaluated_image(int64_t row, Image& to) const;
  // Training rows of a step are places of it.
  const RepeatedRows& order() const { return order_; }
  int64_t epoch() const { return epoch_; }  // of the last started step
  double waited_seconds() const { return loader_.waited_seconds(); }
  int64_t memory_bytes(int64_t step_rows, int64_t eval_rows) const;

 private:
  struct Partner {
    int64_t row, other;
  };
  void make(int64_t key, int64_t epoch, LoadedImage& to, LoadMemory& memory) const;
  void start(ImageBatch& batch, TaskRun& run, int64_t step);
  void find_partners(std::span<const int64_t> all);
  int64_t partner_of(int64_t row) const;
  int32_t label_of(int64_t place) const { return train_.label(order_.row(epoch_, place)); }
  Status take_evaluated(std::span<const int64_t> rows);
  // The image, or null if it is skipped.
  Result<const LoadedImage*> image_of(ImageBatch& batch, int64_t key);
  void fill(const LoadedImage& image, std::span<float> to) const;
  void fill_mixed(const LoadedImage& image, const LoadedImage* other, std::span<float> to,
                  std::vector<float>& memory) const;
  void fill_labels(std::span<const int64_t> rows, Batch& to) const;

  const ImageClassificationSettings& s_;
  const TrainingTransform& training_of(int64_t epoch) const {
    return training_[sizes_.sides().empty() ? 0 : sizes_.index(epoch)];
  }

  ImageSizes sizes_;
  std::vector<TrainingTransform> training_;  // by sizes_.sides(), or one
  EvaluationTransform evaluation_;
  ImageProcessor::Table table_;
  ImageRows train_, eval_;
  RepeatedRows order_;
  int64_t epoch_ = 0;  // of the step
  int64_t classes_;
  ThreadPool& pool_;
  using BatchPlace = std::unique_ptr<ImageBatch>;  // the loader knows its address
  ImageBatch& batch_of(int64_t step) {
    return *steps_[static_cast<size_t>(step % std::ssize(steps_))];
  }
  std::vector<BatchPlace> steps_;  // the current step and those after it, by step % size
  ImageBatch* now_ = nullptr;      // of the step
  BatchPlace evaluated_ = std::make_unique<ImageBatch>(),
             evaluated_next_ = std::make_unique<ImageBatch>();
  Mix mix_;                        // of the step
  std::vector<Partner> partners_;  // of the step, by row
  struct Step;
  std::unique_ptr<Step> step_;
  std::vector<const LoadedImage*> images_, others_;  // of a micro-batch
  std::vector<std::vector<float>> memory_;           // by thread
  std::vector<int64_t> keys_;
  ImageLoader loader_;  // last: its threads use the other members
};

}  // namespace hone
