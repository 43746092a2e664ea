// The images of the sample project for image classification (`hone init`).
#pragma once

#include <map>
#include <string>

namespace hone {

// Images of discs and squares, 32 x 32 pixels: the bytes of each PNG file by its path, such as "train/disc/0.png".
std::map<std::string, std::string> sample_images();

}  // namespace hone
