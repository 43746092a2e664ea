// Fills the inputs of programs for image classification. Threads decode and transform the images of the next steps
// while the current step runs.
#pragma once

#include "learn/data/images/image_loader.h"
#include "learn/data/images/image_rows.h"
#include "learn/harness/examples.h"
#include "learn/tasks/image_classification_settings.h"
#include "learn/tasks/repeated_rows.h"

namespace hone {

class ImagePixels {
 public:
  // `processor`: the processor of evaluated rows. `sizes`: the processors of training rows. `classes`: number of
  // classes. Settings and pool must outlive this object.
  ImagePixels(const ImageClassificationSettings& s, const ImageProcessor& processor,
              const TrainingSizes& sizes, ImageRows train, ImageRows eval, int64_t classes,
              ThreadPool& pool);
  ~ImagePixels();

  // Starts making the pixels of this step and of the step after it, and returns before they are complete. If images
  // have URLs, starts this step and the three steps after it, because the times of downloads vary. Skips steps that
  // were started before.
  void start_steps(TaskRun& run, int64_t step);
  // Calls start_steps(), and prepares collate() for the micro-batches of this step. Call it before the first
  // micro-batch of each training step. `rows`: the step's rows of all ranks.
  void begin_step(TaskRun& run, int64_t step, std::span<const int64_t> rows);
  // For Examples::collate. Always returns false: no row needs a second pass. Waits until the pixels of the rows are
  // made. Fills the inputs for B images of H x W pixels:
  //   pixels f32[B,H,W,3]      normalized
  //   image_ids i64[B]         only in training: numbers of the rows in the epoch; 0 for places after the last row
  //   image_count i32[]        only in training: number of rows, also of those whose image is skipped
  //   labels i32[B]            only in training, without has_shares(): classes; -100: no image
  //   shares f32[B,classes]    only in training, with has_shares(): shares of the classes; all 0: no image
  //   present f32[B]           only in evaluation: 1 for an image, 0 for none
  // "No image" means that the image is unreadable and --skip_unreadable_images is set, or that the micro-batch has
  // fewer than B rows; the pixels are then zeros. Errors: those of decode.h with the name of the file, unless
  // --skip_unreadable_images is set; those of the store.
  Result<bool> collate(const CollatedRows& rows, Batch& to);

  const ImageRows& eval() const { return eval_; }
  // The name of the image file at a place of the current epoch (see order()).
  std::string training_name(int64_t place) const { return train_.name(order_.row(epoch_, place)); }
  // The transform of training images in the current epoch; its members width and height are their size.
  const TrainingTransform& training_size() const { return training_of(epoch_); }
  // Makes the pixels of one evaluated row, independently of collate(). An unreadable image is an Error even with
  // --skip_unreadable_images. Errors: those of decode.h with the name of the file, and those of the store.
  Status evaluated_image(int64_t row, Image& to) const;
  // Maps the places of an epoch to training rows. The row indices of training steps in other functions of this class,
  // and in the steps of the run, are places in this order.
  const RepeatedRows& order() const { return order_; }
  int64_t epoch() const { return epoch_; }  // epoch of the current step
  // Total time that collate() waited for pixels.
  double waited_seconds() const { return loader_.waited_seconds(); }
  // An estimate of the memory that this object needs, in bytes. `step_rows`: rows of a training step on this rank.
  // `eval_rows`: rows of a micro-batch of an evaluation.
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
  // Waits for the image. Null: it is unreadable and skipped.
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
  std::vector<TrainingTransform> training_;  // one for each of sizes_.sides(), or only one
  EvaluationTransform evaluation_;
  ImageProcessor::Table table_;
  ImageRows train_, eval_;
  RepeatedRows order_;
  int64_t epoch_ = 0;  // epoch of the current step
  int64_t classes_;
  ThreadPool& pool_;
  // An ImageBatch must not move in memory, because the loader keeps its address.
  using BatchPlace = std::unique_ptr<ImageBatch>;
  ImageBatch& batch_of(int64_t step) {
    return *steps_[static_cast<size_t>(step % std::ssize(steps_))];
  }
  std::vector<BatchPlace> steps_;  // the current step and the steps after it; index: step % size
  ImageBatch* now_ = nullptr;      // the batch of the current step
  BatchPlace evaluated_ = std::make_unique<ImageBatch>(),
             evaluated_next_ = std::make_unique<ImageBatch>();
  Mix mix_;  // mixup or cutmix of the current step
  // Rows of the current step and the rows to mix them with, sorted by row.
  std::vector<Partner> partners_;
  struct Step;
  std::unique_ptr<Step> step_;
  // images_: the images of a micro-batch; null: no image. others_: the image to mix with each of them; null: none.
  std::vector<const LoadedImage*> images_, others_;
  std::vector<std::vector<float>> memory_;  // by thread
  std::vector<int64_t> keys_;
  ImageLoader loader_;  // last: its threads use the other members
};

}  // namespace hone
