#include "learn/tasks/image_classification_check.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/core/text.h"
#include "learn/data/rows/count_text.h"
#include "learn/tasks/image_classification_data.h"
#include "learn/tasks/image_samples.h"

namespace hone {
namespace {

constexpr size_t kShownFaults = 5;

// The faults of images, by row.
std::vector<std::string> unreadable_images(const ImageClassificationSettings& s,
                                           const ImageProcessor& processor, const ImageRows& rows,
                                           ThreadPool& pool) {
  std::vector<std::string> faults;
  std::mutex mutex;
  const EvaluationTransform transform = s.evaluation(processor);
  std::atomic<int64_t> next{0};
  pool.run([&](int) {
    TransformMemory memory;
    std::string bytes;
    Image image;
    for (int64_t row = next++; row < rows.size(); row = next++) {
      const auto made = [&]() -> Status {
        const std::string_view packed = HONE_TRY(rows.bytes(row, bytes));
        return evaluation_pixels(packed, transform, s.limits(), image, memory);
      };
      const Status status = made();
      if (status.ok()) continue;
      const std::lock_guard lock(mutex);
      faults.push_back(fmt::format("{}: {}", rows.name(row), status.error().what()));
    }
  });
  std::sort(faults.begin(), faults.end());
  return faults;
}

void check_split(const char* split, const ImageClassificationSettings& s,
                 const ImageProcessor& processor, const ImageRows& rows, ThreadPool& pool,
                 Findings& findings) {
  const std::vector<std::string> faults = unreadable_images(s, processor, rows, pool);
  if (faults.empty()) return;
  findings.add(
      s.skip_unreadable_images ? FindingLevel::kWarning : FindingLevel::kError, "unreadable_images",
      fmt::format("{}: {} of {} cannot be read", split, count_of(std::ssize(faults), "image"),
                  grouped(rows.size())),
      join({faults.begin(),
            faults.begin() + static_cast<std::ptrdiff_t>(std::min(kShownFaults, faults.size()))},
           "\n       "),
      "get the files again or remove them, or train with --skip_unreadable_images");
}

void check_image_classes(const ImageSplits& data, Findings& findings) {
  std::vector<int64_t> counts(data.names.size());
  for (int64_t i = 0; i < data.train->size(); ++i)
    ++counts[static_cast<size_t>(data.train->label(i))];
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] == 0)
      findings.add(FindingLevel::kWarning, "label_without_rows",
                   fmt::format("train: no image has the class {}", data.names[i]), "",
                   "the model will not learn it: give images of it, or remove the class");
}

// Writes samples of the training images, and notes where they are.
Status note_samples(const ImageClassificationSettings& s, const CheckRequest& request,
                    const ImageProcessor& processor, const ImageSplits& data) {
  const TrainingSizes sizes = HONE_TRY(training_sizes(s, request.model, processor));
  std::string note =
      HONE_TRY(write_image_samples(s, sizes, *data.train, data.names, request.samples));
  if (!note.empty()) request.notes.push_back(std::move(note));
  return Ok{};
}

}  // namespace

RowsReport check_images(const ImageClassificationSettings& s, const CheckRequest& request,
                        Findings& findings) {
  RowsReport report;
  const Result<ImageProcessor> processor = processor_of(s, request.model);
  if (!processor.ok()) {
    findings.add(processor.error());
    return report;
  }
  const Result<ImageSplits> data = read_image_splits(s, request.model);
  if (!data.ok()) {
    findings.add(data.error());
    return report;
  }
  request.notes = data->notes;
  if (data->train) {
    report.train.rows = report.train.sequences = data->train->size();
    check_split("train", s, *processor, *data->train, request.pool, findings);
    check_image_classes(*data, findings);
    findings.passed(note_samples(s, request, *processor, *data));
  }
  if (data->eval) {
    report.eval.rows = report.eval.sequences = data->eval->size();
    check_split("validation", s, *processor, *data->eval, request.pool, findings);
  }
  return report;
}

}  // namespace hone
