// Images a second of one thread: from the bytes of real JPEG files to the pixels of a row. bench/images.py runs it beside
// torchvision and Pillow.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "learn/images/augment.h"

namespace hone {
namespace {

std::vector<std::string> photographs() {
  const char* const data = std::getenv("HONE_DATA");
  const std::filesystem::path folder =
      std::filesystem::path(data ? data : HONE_SOURCE_DIR "/../shared/data") /
      "img-imagenet-sample";
  std::vector<std::string> names, files;
  if (std::filesystem::exists(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".JPEG") names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    std::ifstream in(name, std::ios::binary);
    std::ostringstream bytes;
    bytes << in.rdbuf();
    files.push_back(bytes.str());
  }
  return files;
}

// The training images of run_image_classification, or with RandAugment; the images of its evaluations.
enum Kind { kTrain, kRandAugment, kEvaluate };

void files_to_pixels(benchmark::State& state) {
  const std::vector<std::string> files = photographs();
  if (files.empty()) {
    state.SkipWithError("no photographs in HONE_DATA");
    return;
  }
  const auto kind = static_cast<Kind>(state.range(0));
  TrainingTransform t;
  if (kind == kRandAugment) t.policy = Policy::rand_augment;
  const EvaluationTransform e{224, 224, 224, 0, 0, Filter::bilinear};
  TransformMemory memory;
  Image image;
  std::optional<Box> erased;
  int64_t row = 0;
  for (auto _ : state) {
    const std::string& bytes = files[static_cast<size_t>(row) % files.size()];
    const Status made = kind == kEvaluate ? evaluation_pixels(bytes, e, {}, image, memory)
                                          : training_pixels(bytes, t, {}, row_random(0, 0, row),
                                                            image, erased, memory);
    if (!made.ok()) {
      state.SkipWithError(made.error().text().c_str());
      return;
    }
    benchmark::DoNotOptimize(image.pixels.data());
    ++row;
  }
  state.SetItemsProcessed(row);
}

BENCHMARK(files_to_pixels)->ArgName("kind")->Arg(kTrain)->Arg(kRandAugment)->Arg(kEvaluate);

}  // namespace
}  // namespace hone
