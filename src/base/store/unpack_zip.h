// A ZIP archive of one file as a stream (PKWARE's APPNOTE.TXT 6.3): stored or deflated, also with
// trailing or 64-bit sizes. Folders, and macOS's extra files (__MACOSX/), are skipped; a second
// file, encryption and other methods are refused by name.
#pragma once

#include <memory>

#include "base/store/unpack_codec.h"

namespace hone {

std::unique_ptr<UnpackCodec> make_zip_codec();

}  // namespace hone
