// WebP by libwebp; an animation is its first frame on black.
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>

#include "learn/images/codings.h"
#include "learn/images/exif.h"

namespace hone {
namespace {

const uint8_t* data_of(std::string_view bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

using Demuxer = std::unique_ptr<WebPDemuxer, void (*)(WebPDemuxer*)>;
Demuxer demux(std::string_view bytes) {
  const WebPData data{data_of(bytes), bytes.size()};
  return {WebPDemux(&data), WebPDemuxDelete};
}

Error webp_error(VP8StatusCode status) {
  if (status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED)
    return truncated_image("WebP");
  return damaged_image("the bit stream is not that of a WebP image");
}

Status decode_still(const uint8_t* bytes, size_t size, Image& to) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return damaged_image("libwebp has another version");
  config.output.colorspace = MODE_RGBA;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {to.pixels.data(), static_cast<int>(to.width * 4), to.pixels.size()};
  const VP8StatusCode status = WebPDecode(bytes, size, &config);
  if (status != VP8_STATUS_OK) return webp_error(status);
  if (config.output.width != to.width || config.output.height != to.height)
    return damaged_image("a frame has another size than the header says");
  return Ok{};
}

}  // namespace

Result<ImageInfo> read_webp_info(std::string_view bytes) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(data_of(bytes), bytes.size(), &features);
  if (status != VP8_STATUS_OK) return webp_error(status);
  ImageInfo info{ImageCoding::webp, features.width, features.height};
  const Demuxer demuxer = demux(bytes);
  if (!demuxer) return info;
  WebPChunkIterator exif{};
  if (WebPDemuxGetChunk(demuxer.get(), "EXIF", 1, &exif)) {
    std::string_view tiff(reinterpret_cast<const char*>(exif.chunk.bytes), exif.chunk.size);
    constexpr std::string_view kPrefix("Exif\0\0", 6);
    if (tiff.starts_with(kPrefix)) tiff.remove_prefix(kPrefix.size());
    info.orientation = exif_orientation(tiff);
  }
  WebPDemuxReleaseChunkIterator(&exif);
  return info;
}

Status decode_webp(std::string_view bytes, Image& to) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(data_of(bytes), bytes.size(), &features);
  if (status != VP8_STATUS_OK) return webp_error(status);
  if (!features.has_animation) return decode_still(data_of(bytes), bytes.size(), to);
  const Demuxer demuxer = demux(bytes);
  if (!demuxer) return truncated_image("WebP");
  WebPIterator frame{};
  if (!WebPDemuxGetFrame(demuxer.get(), 1, &frame))
    return damaged_image("an animation without a frame");
  Status done = Ok{};
  if (frame.width == to.width && frame.height == to.height) {
    done = decode_still(frame.fragment.bytes, frame.fragment.size, to);
  } else {
    Image part;
    part.resize(frame.width, frame.height);
    done = decode_still(frame.fragment.bytes, frame.fragment.size, part);
    Image canvas;
    copy_box(part, {-frame.x_offset, -frame.y_offset, to.width, to.height}, canvas);
    to = std::move(canvas);
  }
  WebPDemuxReleaseIterator(&frame);
  return done;
}

}  // namespace hone
