/* What all clients share: they connect when they may, act at random moments, and connect again when
 * the connection is gone. Timers of the clients' loop only. */
#include "base/ensure.h"
#include "world.h"

static void on_tick(struct loop_timer *timer)
{
    struct actor *actor = LIST_ITEM(timer, struct actor, timer);
    struct world *world = actor->world;
    struct client *client = &actor->client;
    if (!world->open || (world->quiet && actor != world->scanner && actor != world->inspector))
        client_close(client);
    else if (client_is_up(client))
        actor->act(actor);
    else if (!client->connecting)
        client_connect(client, &world->address);
    int64_t pause_us = between(world, 10, actor->pause_max_us);
    loop_timer_set(client->loop, timer, io_mono_ns(client->io) + pause_us * 1000);
}

void actor_init(struct actor *actor, struct world *world, const char *name, int index)
{
    snprintf(actor->name, sizeof actor->name, "%s-%d", name, index);
    actor->world = world;
    actor->pause_max_us = 20000;
    actor->timer.expired = on_tick;
    client_init(&actor->client, world->client_io, world->client_loop, actor->name, actor);
    loop_timer_set(world->client_loop, &actor->timer, io_mono_ns(world->client_io) + 1000);
}

void actor_fini(struct actor *actor)
{
    loop_timer_cancel(actor->client.loop, &actor->timer);
    client_fini(&actor->client);
}

int actor_version(struct actor *actor, enum wire_api_key key, int first)
{
    const struct wire_api *api = wire_api_find((int)key);
    ENSURE(api);
    int low = first > api->first ? first : api->first;
    return (int)between(actor->world, low, wire_api_version_last(api, false));
}
