#include "learn/tasks/image_samples.h"

#include <algorithm>
#include <cmath>

#include "base/store/new_folders.h"
#include "base/store/private_file.h"
#include "base/store/store.h"
#include "learn/checkpoint/output_dir.h"
#include "learn/data/rows/count_text.h"
#include "learn/images/encode.h"

namespace hone {
namespace {

constexpr int64_t kEpochs = 3;

// Sets the erased box to the mean colour, which is 0 for the model.
void erase_box(const Box& box, const ImageProcessor& p, Image& image) {
  for (int64_t y = box.y; y < box.y + box.height; ++y)
    for (int64_t x = box.x; x < box.x + box.width; ++x)
      for (size_t c = 0; c < 3; ++c)
        image.row(y)[static_cast<size_t>(x) * 4 + c] =
            static_cast<uint8_t>(std::lround(std::clamp(p.mean[c] / p.rescale, 0.0, 255.0)));
}

class SampleWriter {
 public:
  SampleWriter(const ImageClassificationSettings& s, const TrainingSizes& sizes, std::string folder)
      : s_(s), sizes_(sizes), folder_(std::move(folder)) {}

  // The row's line of samples.jsonl; null: it cannot be decoded.
  Result<OrderedJson> write(const ImageRows& rows, int64_t row, int64_t number,
                            const std::string& label) {
    OrderedJson line = {{"image", rows.name(row)}, {"label", label}};
    for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
      if (!make(rows, row, epoch).ok()) return OrderedJson();
      const std::string name = fmt::format("{}_epoch_{}.png", number, epoch);
      HONE_TRY(file_store().write(folder_ + "/" + name, encode_png(image_)));
      line[fmt::format("epoch_{}", epoch)] = name;
    }
    return line;
  }

 private:
  Status make(const ImageRows& rows, int64_t row, int64_t epoch) {
    const ImageProcessor& size =
        sizes_.processors[sizes_.sizes.sides().empty() ? 0 : sizes_.sizes.index(epoch)];
    const std::string_view bytes = HONE_TRY(rows.bytes(row, bytes_));
    std::optional<Box> erased;
    HONE_TRY(training_pixels(bytes, s_.training(size), s_.limits(),
                             row_random(static_cast<uint64_t>(s_.seed), epoch, row), image_, erased,
                             memory_));
    if (erased) erase_box(*erased, size, image_);
    return Ok{};
  }

  const ImageClassificationSettings& s_;
  const TrainingSizes& sizes_;
  std::string folder_, bytes_;
  TransformMemory memory_;
  Image image_;
};

}  // namespace

Result<std::string> write_image_samples(const ImageClassificationSettings& s,
                                        const TrainingSizes& sizes, const ImageRows& rows,
                                        const std::vector<std::string>& names, int64_t count) {
  count = std::min(count, rows.size());
  if (count == 0 || s.output_dir.empty()) return std::string();
  const std::string folder = s.output_dir + "/" + kCheckSamples;
  const NewFolders made(folder);
  HONE_TRY(make_run_folder(s.output_dir));
  HONE_TRY(make_run_folder(folder));
  SampleWriter writer(s, sizes, folder);
  std::string lines;
  int64_t written = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = i * rows.size() / count;
    const OrderedJson line =
        HONE_TRY(writer.write(rows, row, i + 1, names[static_cast<size_t>(rows.label(row))]));
    if (line.is_null()) continue;
    lines += dump_json(line) + "\n";
    ++written;
  }
  if (written == 0) return std::string();
  const std::string file = folder + "/samples.jsonl";
  HONE_TRY(file_store().write(file, lines));
  return fmt::format("{}: {} as {} epochs show them to the model", file,
                     count_of(written, "training image"), kEpochs);
}

}  // namespace hone
