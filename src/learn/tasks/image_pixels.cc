#include "learn/tasks/image_pixels.h"

#include <algorithm>
#include <functional>

#include "learn/data/rows/token_rows.h"
#include "learn/harness/run/task_run.h"
#include "learn/images/errors.h"

namespace hone {
namespace {

// The loader's number of an evaluated row; training rows have their own.
constexpr int64_t evaluated_key(int64_t row) { return -1 - row; }

constexpr int kRemoteThreads = 16;  // most of which wait for their bytes
constexpr int kStepsAhead = 1, kRemoteStepsAhead = 3;

int decode_threads(const ImageClassificationSettings& s, bool remote) {
  if (s.decode_threads >= 0) return static_cast<int>(s.decode_threads);
  const int cores = std::max(1, usable_cores() / static_cast<int>(s.ranks->local_ranks()));
  return remote ? std::max(cores, kRemoteThreads) : cores;
}

std::vector<TrainingTransform> transforms_of(const ImageClassificationSettings& s,
                                             const TrainingSizes& sizes) {
  std::vector<TrainingTransform> all;
  for (const ImageProcessor& p : sizes.processors) all.push_back(s.training(p));
  return all;
}

bool is_unreadable(const Error& e) {
  return e.is(err::kImageFormat) || e.is(err::kImageDamaged) || e.is(err::kImageLimit);
}

}  // namespace

struct ImagePixels::Step {
  TaskRun::RowsOfStep rows;
  std::vector<int64_t> wanted;
};

ImagePixels::ImagePixels(const ImageClassificationSettings& s, const ImageProcessor& processor,
                         const TrainingSizes& sizes, ImageRows train, ImageRows eval,
                         int64_t classes, ThreadPool& pool)
    : s_(s),
      sizes_(sizes.sizes),
      training_(transforms_of(s, sizes)),
      evaluation_(s.evaluation(processor)),
      table_(processor.table()),
      train_(std::move(train)),
      eval_(std::move(eval)),
      order_(train_.size(), s.aug_repeats, s.training_order(train_.size())),
      classes_(classes),
      pool_(pool),
      step_(std::make_unique<Step>()),
      memory_(static_cast<size_t>(pool.size())),
      loader_(decode_threads(s, train_.is_remote() || eval_.is_remote()),
              std::bind_front(&ImagePixels::make, this)) {
  const int steps = 1 + (train_.is_remote() ? kRemoteStepsAhead : kStepsAhead);
  for (int i = 0; i < steps; ++i) steps_.push_back(std::make_unique<ImageBatch>());
}

ImagePixels::~ImagePixels() = default;

void ImagePixels::make(int64_t key, int64_t epoch, LoadedImage& to, LoadMemory& memory) const {
  const bool training = key >= 0;
  const int64_t row = training ? order_.row(epoch, key) : evaluated_key(key);
  const ImageRows& rows = training ? train_ : eval_;
  const auto made = [&]() -> Status {
    const std::string_view bytes = HONE_TRY(rows.bytes(row, memory.bytes));
    if (training)
      return training_pixels(bytes, training_of(epoch), s_.limits(),
                             row_random(static_cast<uint64_t>(s_.seed), epoch, key), to.pixels,
                             to.erased, memory.transform);
    return evaluation_pixels(bytes, evaluation_, s_.limits(), to.pixels, memory.transform);
  };
  Status status = made();
  if (!status.ok()) to.error.emplace(std::move(status.error()).at(rows.name(row)));
}

Status ImagePixels::evaluated_image(int64_t row, Image& to) const {
  LoadedImage image;
  LoadMemory memory;
  make(evaluated_key(row), 0, image, memory);
  if (image.error) return *image.error;
  to = std::move(image.pixels);
  return Ok{};
}

void ImagePixels::start(ImageBatch& batch, TaskRun& run, int64_t step) {
  run.find_rows_of(step, step_->rows);
  step_->wanted = step_->rows.mine;
  if (s_.mixes()) {
    find_partners(step_->rows.all);
    for (const int64_t row : step_->rows.mine) step_->wanted.push_back(partner_of(row));
  }
  loader_.start(batch, step_->rows.epoch, step_->wanted);
  batch.number = step;
}

void ImagePixels::start_steps(TaskRun& run, int64_t step) {
  const int64_t end = std::min(step + std::ssize(steps_), run.steps().total_steps());
  for (int64_t next = step; next < end; ++next)
    if (ImageBatch& batch = batch_of(next); batch.number != next) start(batch, run, next);
}

void ImagePixels::begin_step(TaskRun& run, int64_t step, std::span<const int64_t> rows) {
  start_steps(run, step);
  now_ = &batch_of(step);
  epoch_ = run.steps().rows_of_step(step).epoch;
  if (!s_.mixes()) return;
  PhiloxStream random = step_random(static_cast<uint64_t>(s_.seed), step);
  const TrainingTransform& size = training_of(epoch_);
  mix_ = random_mix({s_.mixup_alpha, s_.cutmix_alpha}, size.width, size.height, random);
  find_partners(rows);
}

void ImagePixels::find_partners(std::span<const int64_t> all) {
  partners_.clear();
  for (size_t i = 0; i < all.size(); ++i)
    partners_.push_back({all[i], all[i == 0 ? all.size() - 1 : i - 1]});
  std::sort(partners_.begin(), partners_.end(),
            [](const Partner& a, const Partner& b) { return a.row < b.row; });
}

int64_t ImagePixels::partner_of(int64_t row) const {
  const auto at = std::lower_bound(partners_.begin(), partners_.end(), row,
                                   [](const Partner& p, int64_t r) { return p.row < r; });
  HONE_BUG_IF(at == partners_.end() || at->row != row, "row {} is not in the step", row);
  return at->other;
}

// Makes these rows, if they are not being made, and begins with the rows after them.
Status ImagePixels::take_evaluated(std::span<const int64_t> rows) {
  const auto holds = [&](const ImageBatch& batch) {
    return std::all_of(rows.begin(), rows.end(),
                       [&](int64_t row) { return batch.holds(evaluated_key(row)); });
  };
  if (holds(*evaluated_)) return Ok{};
  const auto start_keys = [&](ImageBatch& batch) { loader_.start(batch, 0, keys_); };
  std::swap(evaluated_, evaluated_next_);
  if (!holds(*evaluated_)) {
    keys_.clear();
    for (const int64_t row : rows) keys_.push_back(evaluated_key(row));
    start_keys(*evaluated_);
  }
  keys_.clear();
  const int64_t last = rows.back(), end = std::min(last + 1 + std::ssize(rows), eval_.size());
  for (int64_t row = last + 1; row < end; ++row) keys_.push_back(evaluated_key(row));
  start_keys(*evaluated_next_);
  return Ok{};
}

Result<const LoadedImage*> ImagePixels::image_of(ImageBatch& batch, int64_t key) {
  const LoadedImage& image = loader_.take(batch, key);
  if (!image.error) return &image;
  if (s_.skip_unreadable_images && is_unreadable(*image.error)) return nullptr;
  return *image.error;
}

void ImagePixels::fill(const LoadedImage& image, std::span<float> to) const {
  const uint8_t* p = image.pixels.pixels.data();
  float* out = to.data();
  for (size_t i = 0; i < to.size() / 3; ++i, p += 4, out += 3)
    for (size_t c = 0; c < 3; ++c) out[c] = table_[c][p[c]];
  if (!image.erased) return;
  const Box& box = *image.erased;
  for (int64_t y = box.y; y < box.y + box.height; ++y)
    std::fill_n(to.begin() + (y * image.pixels.width + box.x) * 3, box.width * 3, 0.0F);
}

void ImagePixels::fill_mixed(const LoadedImage& image, const LoadedImage* other,
                             std::span<float> to, std::vector<float>& memory) const {
  fill(image, to);
  if (!other || !mix_.any()) return;
  memory.resize(to.size());
  fill(*other, memory);
  if (mix_.box.width > 0) {
    const int64_t width = image.pixels.width;
    for (int64_t y = mix_.box.y; y < mix_.box.y + mix_.box.height; ++y) {
      const int64_t begin = (y * width + mix_.box.x) * 3;
      std::copy_n(memory.begin() + begin, mix_.box.width * 3, to.begin() + begin);
    }
    return;
  }
  const auto share = static_cast<float>(mix_.share), rest = static_cast<float>(1 - mix_.share);
  for (size_t i = 0; i < to.size(); ++i) to[i] = share * to[i] + rest * memory[i];
}

void ImagePixels::fill_labels(std::span<const int64_t> rows, Batch& to) const {
  if (!s_.has_shares()) {
    const auto labels = to.get<int32_t>("labels");
    std::fill(labels.begin(), labels.end(), kIgnoreLabel);
    for (size_t q = 0; q < rows.size(); ++q)
      if (images_[q]) labels[q] = label_of(rows[q]);
    return;
  }
  const auto shares = to.get<float>("shares");
  const auto classes = static_cast<size_t>(classes_);
  std::fill(shares.begin(), shares.end(), 0.0F);
  const double smoothing = s_.label_smoothing_factor,
               spread = smoothing / static_cast<double>(classes_);
  for (size_t q = 0; q < rows.size(); ++q) {
    if (!images_[q]) continue;
    const auto of_row = shares.subspan(q * classes, classes);
    std::fill(of_row.begin(), of_row.end(), static_cast<float>(spread));
    const double own = others_[q] ? mix_.share : 1;
    const auto add = [&](int64_t row, double share) {
      of_row[static_cast<size_t>(label_of(row))] += static_cast<float>((1 - smoothing) * share);
    };
    add(rows[q], own);
    if (own < 1) add(partner_of(rows[q]), 1 - own);
  }
}

Result<bool> ImagePixels::collate(const CollatedRows& rows, Batch& to) {
  const std::span<const int64_t> mine = rows.rows.rows;
  const bool training = rows.training();
  if (!training && !mine.empty()) HONE_TRY(take_evaluated(mine));
  images_.assign(mine.size(), nullptr);
  others_.assign(mine.size(), nullptr);
  for (size_t q = 0; q < mine.size(); ++q) {
    ImageBatch& batch = training ? *now_ : *evaluated_;
    images_[q] = HONE_TRY(image_of(batch, training ? mine[q] : evaluated_key(mine[q])));
    if (training && mix_.any()) others_[q] = HONE_TRY(image_of(*now_, partner_of(mine[q])));
  }
  const auto pixels = to.get<float>("pixels");
  const auto size =
      static_cast<size_t>(training ? training_of(epoch_).width * training_of(epoch_).height * 3
                                   : evaluation_.width * evaluation_.height * 3);
  pool_.parallel_for(
      static_cast<int64_t>(pixels.size() / size), [&](int64_t begin, int64_t end, int thread) {
        for (auto q = static_cast<size_t>(begin); q < static_cast<size_t>(end); ++q) {
          const auto out = pixels.subspan(q * size, size);
          if (q < mine.size() && images_[q])
            fill_mixed(*images_[q], others_[q], out, memory_[static_cast<size_t>(thread)]);
          else
            std::fill(out.begin(), out.end(), 0.0F);
        }
      });
  if (!training) {
    const auto present = to.get<float>("present");
    for (size_t q = 0; q < present.size(); ++q)
      present[q] = q < mine.size() && images_[q] ? 1.0F : 0.0F;
    return false;
  }
  const auto ids = to.get<int64_t>("image_ids");
  for (size_t q = 0; q < ids.size(); ++q) ids[q] = q < mine.size() ? rows.rows.number(mine[q]) : 0;
  to.get<int32_t>("image_count")[0] = static_cast<int32_t>(mine.size());
  fill_labels(mine, to);
  return false;
}

int64_t ImagePixels::memory_bytes(int64_t step_rows, int64_t eval_rows) const {
  constexpr int64_t kOfThread = 8 << 20;  // an image of usual size and its parts
  const TrainingTransform& largest = training_.back();
  const int64_t image =
      std::max(largest.width * largest.height, evaluation_.width * evaluation_.height) * 4;
  const int64_t images = std::ssize(steps_) * step_rows * (s_.mixes() ? 2 : 1) + 2 * eval_rows;
  return train_.memory_bytes() + eval_.memory_bytes() + images * image +
         (loader_.threads() + 1) * kOfThread;
}

}  // namespace hone
