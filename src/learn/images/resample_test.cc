// Resized images against Pillow's.
#include "learn/images/resample.h"

#include "engine/backends/cpu/isa/isa.h"
#include "learn/images/golden_images_test.h"

namespace hone {
namespace {

TEST(Resample, HasPillowsPixelsOnEveryInstructionSet) {
  const Json golden = image_golden("resize.json");
  const Image image = image_of(golden_bytes(golden["rgb"]), golden["width"], golden["height"]);
  const cpu::Isa best = cpu::isa();
  for (const cpu::Isa isa : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512}) {
    if (!cpu::isa_supported(isa)) continue;
    cpu::set_isa(isa);
    for (const Json& c : golden["cases"]) {
      SCOPED_TRACE(fmt::format("{} {} x {}", c["filter"].get<std::string>(), c["width"].get<int>(),
                               c["height"].get<int>()));
      const int64_t w = c["width"], h = c["height"];
      Image got;
      ResampleMemory memory;
      resample(image, image.box(),
               {image.width, image.height, w, h, {0, 0, w, h}, filter_of(c["filter"])}, got,
               memory);
      EXPECT_EQ(largest_difference(got, image_of(golden_bytes(c["rgb"]), w, h)), 0);
    }
  }
  cpu::set_isa(best);
}

TEST(Resample, AWindowHasThePixelsOfTheWhole) {
  const Json golden = image_golden("resize.json");
  const Image image = image_of(golden_bytes(golden["rgb"]), golden["width"], golden["height"]);
  for (const std::string& filter : filter_names()) {
    Image whole, window, part, wanted;
    ResampleMemory memory;
    Resize r{image.width, image.height, 19, 23, {0, 0, 19, 23}, filter_of(filter)};
    resample(image, image.box(), r, whole, memory);
    r.window = {5, 7, 9, 11};
    const Box needed = input_box(r);
    copy_box(image, needed, part);
    resample(part, needed, r, window, memory);
    copy_box(whole, r.window, wanted);
    EXPECT_EQ(largest_difference(window, wanted), 0) << filter;
  }
}

}  // namespace
}  // namespace hone
