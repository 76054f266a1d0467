"""Programs of PyTorch as they are written: a ResNet in torchvision's style, an LSTM over characters, a GPT, and others."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


class BasicBlock(nn.Module):
    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: Any = None):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x: Any) -> Any:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, layers: Any = (1, 1, 1, 1), width: int = 16, classes: int = 10):
        super().__init__()
        self.inplanes = width
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._make_layer(width, layers[0])
        self.layer2 = self._make_layer(width * 2, layers[1], 2)
        self.layer3 = self._make_layer(width * 4, layers[2], 2)
        self.layer4 = self._make_layer(width * 8, layers[3], 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(width * 8, classes)

    def _make_layer(self, planes: int, blocks: int, stride: int = 1) -> Any:
        downsample = None
        if stride != 1 or self.inplanes != planes:
            downsample = nn.Sequential(nn.Conv2d(self.inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))
        layers = [BasicBlock(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes
        layers += [BasicBlock(planes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class CharLSTM(nn.Module):
    def __init__(self, size: int = 40, width: int = 32, hidden: int = 64, layers: int = 2):
        super().__init__()
        self.embedding = nn.Embedding(size, width)
        self.lstm = nn.LSTM(width, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, size)

    def forward(self, index: Any) -> Any:
        y, _ = self.lstm(self.embedding(index))
        return self.head(y)


class CausalSelfAttention(nn.Module):
    def __init__(self, width: int, heads: int, length: int):
        super().__init__()
        self.c_attn, self.c_proj, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads
        self.register_buffer("bias", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def forward(self, x: Any) -> Any:
        b, t, c = x.size()
        q, k, v = self.c_attn(x).split(c, dim=2)
        k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (k.size(-1) ** -0.5)
        att = att.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, length: int):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(width), CausalSelfAttention(width, heads, length), nn.LayerNorm(width)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(width, 4 * width), "c_proj": nn.Linear(4 * width, width)})

    def forward(self, x: Any) -> Any:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, size: int = 65, width: int = 64, heads: int = 4, blocks: int = 2, length: int = 32):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(size, width), nn.Embedding(length, width)
        self.h = nn.ModuleList([Block(width, heads, length) for _ in range(blocks)])
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, size, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, index: Any) -> Any:
        position = torch.arange(0, index.size(1), dtype=torch.long, device=index.device)
        x = self.wte(index) + self.wpe(position)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class Several(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(4, 3, num_layers=2, bidirectional=True)
        self.rnn = nn.RNN(6, 3, nonlinearity="relu")
        self.norm = nn.GroupNorm(2, 4)
        self.up = nn.Upsample(scale_factor=2)
        self.drop = nn.Dropout(0.5)
        self.up_conv = nn.ConvTranspose2d(4, 2, 3, stride=2)

    def forward(self, x: Any, image: Any, scale: float = 2.0) -> Any:
        y, h = self.gru(x)
        z, _ = self.rnn(y)
        maps = self.up_conv(self.up(F.hardswish(self.norm(image))))
        means = F.adaptive_avg_pool2d(maps, 2)
        image[:, 0] = 1.0
        return {"y": self.drop(z) * scale, "rest": (h, [means, image.clamp(max=0.5).topk(2)[0]])}
