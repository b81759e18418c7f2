/// pool.c: cutting slabs into blocks: two-level segregated fit.
///
/// Free blocks hang in bins by size, eight bins per octave, and two levels of bit maps find the
/// first bin whose blocks are all large enough. Neighbours join when they are freed, so a loop over
/// varying sizes does not cut the slabs to pieces. Taking and giving cost the same at any fill.
#include "internal.h"

#include <string.h>

enum { GRANULE = CBK_RT_ALIGNMENT, NODES_PER_ARRAY = 64, BIN_BITS = 3 };

struct cbk_rt_node_array {
    struct cbk_rt_node_array *next;
    struct cbk_rt_block nodes[NODES_PER_ARRAY];
};

// ---- nodes -----------------------------------------------------------------------------------------

struct cbk_rt_block *cbk_rt_node_take(struct cbk_rt_stream *stream) {
    if (!stream->unused_nodes) {
        struct cbk_rt_node_array *array = cbk_rt_host_alloc(stream->device->rt, sizeof *array);
        if (!array) return NULL;
        array->next = stream->node_arrays;
        stream->node_arrays = array;
        for (uint32_t i = 0; i < NODES_PER_ARRAY; i++) cbk_rt_node_give(stream, &array->nodes[i]);
    }
    struct cbk_rt_block *node = stream->unused_nodes;
    stream->unused_nodes = node->free_next;
    *node = (struct cbk_rt_block){.home = stream, .references = 1};
    return node;
}

void cbk_rt_node_give(struct cbk_rt_stream *stream, struct cbk_rt_block *node) {
    node->free_next = stream->unused_nodes;
    stream->unused_nodes = node;
}

void cbk_rt_nodes_finish(struct cbk_rt_stream *stream) {
    while (stream->node_arrays) {
        struct cbk_rt_node_array *array = stream->node_arrays;
        stream->node_arrays = array->next;
        cbk_rt_host_free(stream->device->rt, array, sizeof *array);
    }
    stream->unused_nodes = NULL;
}

// ---- bins ------------------------------------------------------------------------------------------

static uint32_t highest_bit(uint64_t value) {
    return 63u - (uint32_t)__builtin_clzll(value);
}

struct place {
    uint32_t octave, bin;
};

/// The bin that holds blocks of a size. Sizes below eight granules have bins of their own.
static struct place place_of(uint64_t size) {
    const uint64_t granules = size / GRANULE;
    if (granules < CBK_RT_BINS_PER_OCTAVE) return (struct place){0, (uint32_t)granules};
    const uint32_t top = highest_bit(granules);
    const uint32_t bin = (uint32_t)(granules >> (top - BIN_BITS)) & (CBK_RT_BINS_PER_OCTAVE - 1);
    return (struct place){top - BIN_BITS + 1, bin};
}

/// The first bin all of whose blocks have at least that size.
static struct place place_for(uint64_t size) {
    const uint64_t granules = size / GRANULE;
    if (granules < CBK_RT_BINS_PER_OCTAVE) return place_of(size);
    const uint64_t step = (uint64_t)1 << (highest_bit(granules) - BIN_BITS);
    return place_of((granules + step - 1) * GRANULE);
}

static void insert_free(struct cbk_rt_pool *pool, struct cbk_rt_block *block) {
    const struct place at = place_of(block->size);
    struct cbk_rt_block **head = &pool->bins[at.octave][at.bin];
    block->free_previous = NULL;
    block->free_next = *head;
    if (*head) (*head)->free_previous = block;
    *head = block;
    pool->bin_map[at.octave] |= (uint8_t)(1u << at.bin);
    pool->octave_map |= 1u << at.octave;
}

static void remove_free(struct cbk_rt_pool *pool, struct cbk_rt_block *block) {
    const struct place at = place_of(block->size);
    struct cbk_rt_block **head = &pool->bins[at.octave][at.bin];
    if (block->free_next) block->free_next->free_previous = block->free_previous;
    if (block->free_previous) {
        block->free_previous->free_next = block->free_next;
    } else {
        *head = block->free_next;
    }
    if (*head) return;
    pool->bin_map[at.octave] &= (uint8_t) ~(1u << at.bin);
    if (!pool->bin_map[at.octave]) pool->octave_map &= ~(1u << at.octave);
}

static struct cbk_rt_block *find_free(const struct cbk_rt_pool *pool, uint64_t size) {
    struct place at = place_for(size);
    uint32_t bins = pool->bin_map[at.octave] & (0xffu << at.bin);
    if (!bins) {
        const uint32_t octaves = pool->octave_map & (uint32_t)(~(uint64_t)0 << (at.octave + 1));
        if (!octaves) return NULL;
        at.octave = (uint32_t)__builtin_ctz(octaves);
        bins = pool->bin_map[at.octave];
    }
    return pool->bins[at.octave][__builtin_ctz(bins)];
}

// ---- slabs -----------------------------------------------------------------------------------------

void cbk_rt_pool_init(struct cbk_rt_pool *pool, struct cbk_rt_stream *stream, bool is_persistent) {
    *pool = (struct cbk_rt_pool){.stream = stream, .is_persistent = is_persistent};
}

cbk_status cbk_rt_pool_add(struct cbk_rt_pool *pool, struct cbk_rt_chunk *chunk) {
    struct cbk_rt_block *block = cbk_rt_node_take(pool->stream);
    if (!block) {
        return cbk_fail(CBK_ERROR_OUT_OF_HOST_MEMORY, 0, "no host memory for a list of blocks");
    }
    block->mem = chunk->mem;
    block->chunk = chunk;
    block->size = chunk->size;
    chunk->pool = pool;
    chunk->first = block;
    chunk->used_bytes = 0;
    chunk->previous = NULL;
    chunk->next = pool->chunks;
    if (chunk->next) chunk->next->previous = chunk;
    pool->chunks = chunk;
    pool->free_slab_count++;
    pool->slab_bytes += chunk->size;
    insert_free(pool, block);
    return CBK_OK;
}

struct cbk_rt_chunk *cbk_rt_pool_remove_free(struct cbk_rt_pool *pool) {
    if (pool->free_slab_count == 0) return NULL;
    struct cbk_rt_chunk *chunk = pool->chunks;
    while (chunk->used_bytes > 0) chunk = chunk->next;
    if (chunk->previous) {
        chunk->previous->next = chunk->next;
    } else {
        pool->chunks = chunk->next;
    }
    if (chunk->next) chunk->next->previous = chunk->previous;
    remove_free(pool, chunk->first);
    cbk_rt_node_give(pool->stream, chunk->first);
    pool->free_slab_count--;
    pool->slab_bytes -= chunk->size;
    chunk->pool = NULL;
    chunk->first = NULL;
    chunk->previous = chunk->next = NULL;
    return chunk;
}

// ---- blocks ----------------------------------------------------------------------------------------

/// Cuts what is beyond `size` off as a free block of its own. Without host memory for that, the
/// block keeps it.
static void split(struct cbk_rt_pool *pool, struct cbk_rt_block *block, uint64_t size) {
    struct cbk_rt_block *rest = block->size > size ? cbk_rt_node_take(pool->stream) : NULL;
    if (!rest) return;
    rest->mem = block->mem;
    rest->chunk = block->chunk;
    rest->offset = block->offset + size;
    rest->size = block->size - size;
    rest->previous = block;
    rest->next = block->next;
    if (rest->next) rest->next->previous = rest;
    block->next = rest;
    block->size = size;
    insert_free(pool, rest);
}

struct cbk_rt_block *cbk_rt_pool_take(struct cbk_rt_pool *pool, uint64_t size) {
    struct cbk_rt_block *block = find_free(pool, size);
    if (!block) return NULL;
    remove_free(pool, block);
    split(pool, block, size);
    struct cbk_rt_chunk *chunk = block->chunk;
    if (chunk->used_bytes == 0) pool->free_slab_count--;
    chunk->used_bytes += block->size;
    block->is_used = true;
    return block;
}

/// Joins a block with the one after it, whose node is given back.
static void absorb_next(struct cbk_rt_pool *pool, struct cbk_rt_block *block) {
    struct cbk_rt_block *next = block->next;
    block->size += next->size;
    block->next = next->next;
    if (block->next) block->next->previous = block;
    cbk_rt_node_give(pool->stream, next);
}

void cbk_rt_pool_give(struct cbk_rt_pool *pool, struct cbk_rt_block *block) {
    struct cbk_rt_chunk *chunk = block->chunk;
    CBK_ASSERT(block->is_used);
    block->is_used = false;
    chunk->used_bytes -= block->size;
    if (chunk->used_bytes == 0) pool->free_slab_count++;
    if (block->next && !block->next->is_used) {
        remove_free(pool, block->next);
        absorb_next(pool, block);
    }
    if (block->previous && !block->previous->is_used) {
        block = block->previous;
        remove_free(pool, block);
        absorb_next(pool, block);
    }
    insert_free(pool, block);
}
