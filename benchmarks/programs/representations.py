"""Programs that learn representations: contrastive, metric, self-supervised."""

from __future__ import annotations

import copy

import numpy as np

from .registry import Library, Training, batches, images, program, slower, table


def _encoder(lib, out=32, seed=0):
    nn = lib.nn
    return lib.filled(
        nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(256, out),
        ),
        seed,
    )  # fmt: skip


def _views(count=128):
    x = images(count, 1, 16)[0]
    rng = np.random.default_rng(5)
    return tuple((x + rng.normal(0, 0.2, x.shape)).astype("float32") for _ in range(2))


@program("prototypical networks: episodes of 5 ways, 5 shots")
def prototypical(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    encoder = _encoder(lib)
    optimizer = optim.Adam(encoder.parameters(), lr=1e-3)
    ways, shots = 5, 5
    labels = torch.arange(ways).repeat_interleave(shots)

    @lib.compiles
    def step(support, query):
        z = encoder(torch.cat([support, query]))
        prototypes = z[: ways * shots].view(ways, shots, -1).mean(1)
        distances = torch.cdist(z[ways * shots :], prototypes) ** 2
        loss = F.nll_loss(F.log_softmax(-distances, dim=1), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy = ((-distances).argmax(1) == labels).float().mean()
        return loss, accuracy.item()

    return Training(step, batches(lib, *_views(125), size=25), slower(optimizer))


@program("SimCLR: normalized temperature-scaled cross-entropy of two views")
def simclr(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    encoder, head = _encoder(lib, 64), lib.filled(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32)), 1)
    optimizer = optim.Adam([*encoder.parameters(), *head.parameters()], lr=1e-3)
    settings = {"temperature": 0.5}

    @lib.compiles
    def step(a, b):
        n = a.shape[0]
        z = F.normalize(head(encoder(torch.cat([a, b]))), dim=1)
        similarity = z @ z.t() / settings["temperature"]
        similarity.fill_diagonal_(float("-inf"))
        labels = torch.cat([torch.arange(n) + n, torch.arange(n)])
        loss = F.cross_entropy(similarity, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def change():
        settings["temperature"] = 0.2

    return Training(step, batches(lib, *_views(), size=32), change)


@program("BYOL: a target network that averages the online network")
def byol(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    online, predictor = _encoder(lib), lib.filled(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)), 1)
    target = copy.deepcopy(online)
    for p in target.parameters():
        p.requires_grad = False
    optimizer = optim.SGD([*online.parameters(), *predictor.parameters()], lr=0.05, momentum=0.9)
    decay = [0.99]

    def distance(p, z):
        return 2 - 2 * F.cosine_similarity(p, z, dim=-1)

    @lib.compiles
    def step(a, b):
        with torch.no_grad():
            za, zb = target(a), target(b)
        loss = (distance(predictor(online(a)), zb) + distance(predictor(online(b)), za)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for p, q in zip(online.parameters(), target.parameters()):
                q.copy_(decay[0] * q + (1 - decay[0]) * p)
        return loss

    def change():
        decay[0] = 0.9

    return Training(step, batches(lib, *_views(), size=32), change)


@program("siamese network with triplet loss, an average of the weights in a dictionary")
def triplet(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    net = lib.filled(nn.Sequential(nn.Linear(64, 128), nn.PReLU(), nn.Linear(128, 32)))
    criterion = nn.TripletMarginLoss(margin=1.0)
    optimizer = optim.Adam(net.parameters(), lr=1e-3)
    shadow = {name: p.detach().clone() for name, p in net.named_parameters()}

    @lib.compiles
    def step(anchor, positive, negative):
        optimizer.zero_grad()
        loss = criterion(net(anchor), net(positive), net(negative))
        loss.backward()
        optimizer.step()
        for name, p in net.named_parameters():
            shadow[name] = 0.99 * shadow[name] + 0.01 * p.detach()
        return loss

    def change():
        criterion.margin = 2.0

    x = table(512, 64)[0]
    return Training(step, batches(lib, x, x[::-1].copy(), np.roll(x, 7, 0), size=64), change)


@program("Barlow Twins: cross-correlation of two views, off-diagonal terms")
def barlow_twins(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    encoder = _encoder(lib)
    optimizer = optim.Adam(encoder.parameters(), lr=1e-3)
    weight = [5e-3]

    def off_diagonal(c):
        n, m = c.shape
        return c.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten()

    @lib.compiles
    def step(a, b):
        za, zb = encoder(a), encoder(b)
        za, zb = ((z - z.mean(0)) / (z.std(0) + 1e-6) for z in (za, zb))
        c = za.T @ zb / za.shape[0]
        loss = torch.diagonal(c).add_(-1).pow_(2).sum() + weight[0] * off_diagonal(c).pow_(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def change():
        weight[0] = 1e-2

    return Training(step, batches(lib, *_views(), size=32), change)


@program("MoCo: a queue of keys written by slices, momentum encoder")
def moco(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib

    class MoCo(nn.Module):
        def __init__(self, length=256):
            super().__init__()
            self.encoder_q, self.encoder_k = _encoder(lib), _encoder(lib)
            queue = np.random.default_rng(7).normal(0, 1, (32, length)).astype("float32")
            self.register_buffer("queue", F.normalize(lib.tensor(queue), dim=0))
            self.pointer, self.length, self.temperature = 0, length, 0.07
            for p in self.encoder_k.parameters():
                p.requires_grad = False

        def forward(self, im_q, im_k):
            q = F.normalize(self.encoder_q(im_q), dim=1)
            with torch.no_grad():
                for a, b in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
                    b.data = b.data * 0.99 + a.data * 0.01
                k = F.normalize(self.encoder_k(im_k), dim=1)
            positive = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
            negative = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
            logits = torch.cat([positive, negative], dim=1) / self.temperature
            with torch.no_grad():
                n = k.shape[0]
                self.queue[:, self.pointer : self.pointer + n] = k.T
                self.pointer = (self.pointer + n) % self.length
            return logits, torch.zeros(logits.shape[0], dtype=torch.long)

    model = MoCo()
    optimizer = optim.SGD(model.encoder_q.parameters(), lr=0.03, momentum=0.9)

    @lib.compiles
    def step(a, b):
        output, target = model(a, b)
        loss = F.cross_entropy(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def change():
        model.temperature = 0.2

    return Training(step, batches(lib, *_views(), size=32), change)
